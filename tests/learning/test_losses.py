"""The structured hinge against enumeration and gradcheck; void nodes, weights, reports and refusals."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import graphs_of, hinge, labelings, random_potentials, score

from neuralfactors import Potentials, grid_edges
from neuralfactors.learning import Decoder, StructuredHingeLoss, StructuredPerceptronLoss
from neuralfactors.learning._decode import clamp_labelled
from neuralfactors.learning._losses import violation
from neuralfactors.learning._margin import node_costs


def enumerated(potentials, y, costs, augment=True):
    parts = graphs_of(potentials)
    return torch.stack([hinge(unary, table, edges, y[i], costs[i], augment) for unary, table, edges, i in parts])


@given(seed=st.integers(0, 2**16))
def test_hinge_equals_enumeration(seed):
    potentials, y = random_potentials(seed)
    loss = StructuredHingeLoss(reduction="none")
    torch.testing.assert_close(loss(potentials, y), enumerated(potentials, y, node_costs(y)), rtol=1e-6, atol=1e-6)
    assert loss.report.negative == 0


@pytest.mark.parametrize("seed", range(4))
def test_weights_and_void_nodes_equal_enumeration(seed):
    potentials, y = random_potentials(seed, sizes=(4, 5, 1))
    y[[0, 6]] = -1
    class_weight, node_weight = torch.tensor([0.5, 1.0, 3.0]), torch.linspace(0.1, 2.0, len(y), dtype=torch.float64)
    loss = StructuredHingeLoss(reduction="none", class_weight=class_weight, void="drop")
    expected = enumerated(potentials, y, node_costs(y, class_weight, node_weight))
    torch.testing.assert_close(loss(potentials, y, node_weight), expected, rtol=1e-6, atol=1e-6)
    margins = StructuredPerceptronLoss(reduction="none", void="drop")(potentials, y)
    torch.testing.assert_close(margins, enumerated(potentials, y, node_costs(y), augment=False), rtol=1e-6, atol=1e-6)


def by_cost_matrix(potentials, y, costs):
    """The hinge of every graph by enumeration, where `costs` (V, L) says what each label costs."""
    values = []
    for unary, table, edges, i in graphs_of(potentials):
        true = score(unary, table, edges, y[i])
        found = [
            costs[i].gather(1, z[:, None]).sum() + score(unary, table, edges, z) - true
            for z in labelings(len(unary), unary.shape[1])
        ]
        values.append(torch.stack(found).max().clamp_min(0))
    return torch.stack(values)


@given(seed=st.integers(0, 2**16))
def test_a_cost_for_every_pair_of_labels_equals_enumeration(seed):
    potentials, y = random_potentials(seed)
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.rand(3, 3, generator=generator, dtype=torch.float64).fill_diagonal_(0)
    loss = StructuredHingeLoss(reduction="none", class_weight=matrix)
    torch.testing.assert_close(loss(potentials, y), by_cost_matrix(potentials, y, matrix[y]), rtol=1e-6, atol=1e-6)
    weight = torch.rand(len(y), generator=generator, dtype=torch.float64)
    expected = by_cost_matrix(potentials, y, matrix[y] * weight[:, None])
    torch.testing.assert_close(loss(potentials, y, weight), expected, rtol=1e-6, atol=1e-6)
    costs = torch.rand(len(y), 3, generator=generator, dtype=torch.float64)
    plain = StructuredHingeLoss(reduction="none")(potentials, y, costs)
    torch.testing.assert_close(plain, by_cost_matrix(potentials, y, costs), rtol=1e-6, atol=1e-6)


def test_a_cost_matrix_of_one_row_value_is_a_class_weight():
    potentials, y = random_potentials(3)
    weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)
    matrix = (weight[:, None] * torch.ones(3, dtype=torch.float64)).fill_diagonal_(0)
    losses = [StructuredHingeLoss(class_weight=each)(potentials, y) for each in (weight, matrix)]
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize("weight", [torch.ones(3, 3), torch.zeros(3, 2), -torch.ones(3, 3).fill_diagonal_(0)])
def test_cost_matrices_that_make_no_sense_are_refused(weight):
    with pytest.raises(ValueError, match="class_weight"):
        StructuredHingeLoss(class_weight=weight)


@pytest.mark.parametrize("length", [2, 5])
def test_hinge_on_chains_equals_enumeration(length):
    generator = torch.Generator().manual_seed(length)
    edges = torch.stack([torch.arange(length - 1), torch.arange(1, length)], dim=1)
    unary = torch.randn(length, 4, generator=generator, dtype=torch.float64)
    tables = torch.randn(length - 1, 4, 4, generator=generator, dtype=torch.float64)
    y = torch.randint(4, (length,), generator=generator)
    loss = StructuredHingeLoss(Decoder("tree"))(Potentials(unary, tables, edges), y)
    torch.testing.assert_close(loss, hinge(unary, tables, edges, y, torch.ones(length)).double())


@pytest.mark.parametrize("seed", range(3))
def test_hinge_of_third_order_equals_enumeration(seed):
    potentials, y = random_potentials(seed, sizes=(4,), n_labels=2, order=3)
    loss = StructuredHingeLoss(Decoder("exhaustive"), reduction="none")
    torch.testing.assert_close(loss(potentials, y), enumerated(potentials, y, node_costs(y)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [StructuredHingeLoss, StructuredPerceptronLoss])
def test_gradient(kind, seed):
    potentials, y = random_potentials(seed)
    y[0] = -1
    loss = kind(Decoder("exhaustive"))

    def value(unary, interaction):
        given = Potentials(unary, interaction, potentials.edges, potentials.node_ptr, potentials.edge_ptr)
        return loss(given, y)

    inputs = potentials.unary.requires_grad_(), potentials.interaction.requires_grad_()
    assert torch.autograd.gradcheck(value, inputs)


def test_completed_void_nodes_are_a_latent_variable():
    potentials, y = random_potentials(7, sizes=(4,))
    y[2] = -1
    costs = node_costs(y)
    loss = StructuredHingeLoss(Decoder("exhaustive"), void="complete")(potentials, y)
    completions = []
    for label in range(3):
        z = y.clone()
        z[2] = label
        completions.append(float(potentials.score(z)))
    best = max(
        float(potentials.score(z)) + float((costs * (z != y)).sum())
        for z in torch.cartesian_prod(*[torch.arange(3)] * 4)
    )
    assert loss.item() == pytest.approx(best - max(completions))


def test_graphs_without_a_label_carry_no_loss():
    potentials, y = random_potentials(3, sizes=(4, 3))
    y[4:] = -1
    potentials.unary.requires_grad_()
    each = StructuredHingeLoss(reduction="none")(potentials, y)
    assert each[0] > 0
    assert each[1] == 0
    each.sum().backward()
    assert (potentials.unary.grad[4:] == 0).all()


@pytest.mark.parametrize("kind", [StructuredHingeLoss, StructuredPerceptronLoss])
def test_void_nodes_are_completed_unless_told_otherwise(kind):
    potentials, y = random_potentials(7, sizes=(4,))
    y[2] = -1
    assert kind()(potentials, y) == kind(void="complete")(potentials, y) != kind(void="drop")(potentials, y)


@pytest.mark.parametrize("seed", range(5))
def test_training_completes_as_well_as_prediction_does(seed):
    """Given labels leave small problems, which need no rough answer."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.from_numpy(grid_edges(8, 8))
    table = 2 * torch.randn(len(edges), 6, 6, generator=generator)
    potentials = Potentials(torch.randn(64, 6, generator=generator), table, edges)
    y = torch.randint(6, (64,), generator=generator)
    y[torch.rand(64, generator=generator) < 0.6] = -1
    found = violation(potentials, y, node_costs(y), Decoder().for_training(), void="complete")
    best = Decoder("exact")(clamp_labelled(potentials, y))
    assert float(potentials.score(found.y)) == pytest.approx(float(best.score[0]), abs=1e-3)


def test_given_labels_stay_where_no_completion_is_allowed():
    table = torch.full((1, 2, 2), -torch.inf)
    potentials = Potentials(torch.tensor([[0.0, 5.0], [0.0, 0.0], [0.0, 5.0]]), table, torch.tensor([[0, 1]]))
    y = torch.tensor([0, -1, 0])
    with pytest.raises(ValueError, match=r"edge 0 of graph 0 in the batch has true label \[0, \d\], which"):
        violation(potentials, y, node_costs(y), Decoder(), void="complete")


@pytest.mark.parametrize("void", ["drop", "complete"])
@pytest.mark.parametrize("kind", [StructuredHingeLoss, StructuredPerceptronLoss])
def test_forbidden_true_labels_are_refused(kind, void):
    potentials, _ = random_potentials(0)
    y = torch.tensor([-1, 0, 1, 0, 1, 2, -1])
    unary, interaction, edge = potentials.unary.clone(), potentials.interaction.clone(), len(potentials.edges) - 2
    loss = kind(void=void)
    unary[[0, 6], 0], unary[1, 1] = -torch.inf, -torch.inf
    assert torch.isfinite(loss(replace(potentials, unary=unary), y))
    unary[5, 2] = -torch.inf
    message = "which a potential of −inf forbids: allow it, or make it void"
    with pytest.raises(ValueError, match=f"node 2 of graph 1 in the batch has true label 2, {message}"):
        loss(replace(potentials, unary=unary), y)
    i, j = potentials.edges[edge].tolist()
    interaction[edge, y[i], y[j]] = -torch.inf
    where = f"edge {edge - int(potentials.edge_ptr[1])} of graph 1 in the batch has true label"
    with pytest.raises(ValueError, match=rf"{where} \[{y[i]}, {y[j]}\], {message}"):
        loss(replace(potentials, interaction=interaction), y)


def test_reductions():
    potentials, y = random_potentials(1)
    each = StructuredHingeLoss(reduction="none")(potentials, y)
    assert each.shape == (2,)
    torch.testing.assert_close(StructuredHingeLoss(reduction="sum")(potentials, y), each.sum())
    torch.testing.assert_close(StructuredHingeLoss()(potentials, y), each.mean())


def test_report_tells_of_the_last_call():
    potentials, y = random_potentials(2)
    loss = StructuredHingeLoss(Decoder("exhaustive"))
    assert loss.report is None
    loss(potentials, y)
    assert loss.report.optimal == 1.0
    assert loss.report.gap == pytest.approx(0.0, abs=1e-9)
    assert loss.report.differing == pytest.approx(float((loss.report.z != y).float().mean()))
    assert repr(loss.report).startswith("LossReport(optimal=1, within_tol=1, differing=")


def test_poor_inference_is_reported():
    unary = torch.tensor([[0.0, 10.0], [0.0, 10.0]], dtype=torch.float64)
    table = torch.tensor([[[100.0, 0.0], [0.0, 0.0]]], dtype=torch.float64)
    potentials = Potentials(unary, table, torch.tensor([[0, 1]]))
    loss = StructuredHingeLoss(Decoder("icm"))
    value = loss(potentials, torch.tensor([0, 0]))
    assert value == 0
    assert loss.report.optimal == 0.0
    assert loss.report.z.tolist() == [1, 1]  # stuck in a local optimum below the true labelling
    assert loss.report.negative == 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_swallows_no_margin(dtype):
    """Beside scores of 4096 a cost of 1 is nothing in half precision, and one of 70 000 is too much for float16."""
    potentials = Potentials(
        torch.full((2, 2), 4096.0, dtype=dtype), torch.zeros(1, 2, 2, dtype=dtype), torch.tensor([[0, 1]])
    )
    y = torch.zeros(2, dtype=torch.int64)
    assert StructuredHingeLoss()(potentials, y).item() == 2.0
    assert StructuredHingeLoss()(potentials, y, torch.tensor([7e4, 1.0])).item() == 70_001.0


def test_half_precision_potentials_and_autocast():
    potentials, y = random_potentials(3)
    exact = StructuredHingeLoss()(potentials, y)
    half = Potentials(
        potentials.unary.bfloat16().requires_grad_(), potentials.interaction.bfloat16(), potentials.edges,
        potentials.node_ptr, potentials.edge_ptr,
    )  # fmt: skip
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = StructuredHingeLoss()(half, y)
    loss.backward()
    assert loss.dtype == torch.float32
    assert half.unary.grad.dtype == torch.bfloat16
    torch.testing.assert_close(loss.double(), exact, rtol=0.05, atol=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decoder": "icm"}, "decoder must be None or a Decoder, got 'icm'"),
        ({"void": "keep"}, r"void must be one of \['drop', 'complete'\], got 'keep'"),
        ({"reduction": "max"}, r"reduction must be one of \['mean', 'sum', 'none'\], got 'max'"),
        ({"class_weight": [1.0, -1.0]}, "class_weight must be one finite number ≥ 0 per label"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        StructuredHingeLoss(**arguments)


@pytest.mark.parametrize(
    ("node_weight", "message"),
    [
        ([1.0] * 7, "node_weight must be a tensor, got list"),
        (torch.ones(6), r"node_weight must have shape \(7,\) or \(7, 3\), got \(6,\)"),
        (torch.ones(7, 1), r"node_weight must have shape \(7,\) or \(7, 3\), got \(7, 1\)"),
        (torch.tensor([1.0, -2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), "node_weight must be finite and not negative, got -2.0"),
        (torch.tensor([1.0] * 6 + [torch.nan]), "node_weight must be finite and not negative, got nan"),
    ],
)
def test_unfit_node_weights_are_refused(node_weight, message):
    with pytest.raises(ValueError, match=message):
        StructuredHingeLoss()(*random_potentials(0), node_weight)


def test_weights_without_a_margin_are_refused():
    with pytest.raises(ValueError, match="class_weight must be None: it weighs a margin, which Str"):
        StructuredPerceptronLoss(class_weight=[1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="node_weight must be None: it weighs a margin"):
        StructuredPerceptronLoss()(*random_potentials(0), torch.ones(7))


def test_unfit_labels_are_refused():
    potentials, y = random_potentials(0)
    loss = StructuredHingeLoss()
    with pytest.raises(ValueError, match="a loss takes Potentials and labels, in this order, got Tensor first"):
        loss(potentials.unary, y)
    with pytest.raises(ValueError, match="y must be a tensor, got ndarray"):
        loss(potentials, y.numpy())
    with pytest.raises(ValueError, match=r"y must contain integers of shape \(7,\), got torch.int64 of shape \(6,\)"):
        loss(potentials, y[:-1])
    with pytest.raises(ValueError, match=r"got torch.float32 of shape \(7,\)"):
        loss(potentials, y.float())
    with pytest.raises(ValueError, match="y must contain labels from 0 to 2, or -1 for void; got 3 to 3"):
        loss(potentials, torch.full_like(y, 3))
    with pytest.raises(ValueError, match="class_weight needs 3 entries, one per label, got 2"):
        StructuredHingeLoss(class_weight=[1.0, 2.0])(potentials, y)
    with pytest.raises(ValueError, match="method"):
        StructuredHingeLoss(Decoder("simplex"))(potentials, y)
