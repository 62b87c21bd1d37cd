"""The log-likelihood against enumeration and gradcheck; void nodes, margins, refusals."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import graphs_of, labelings, random_potentials, score

from neuralfactors import Potentials, grid_edges
from neuralfactors.learning import CRFLoss, PerturbedLoss
from neuralfactors.learning._margin import hamming, node_costs


def log_sum(unary, interaction, edges, y, costs=None):
    """log Σ exp(g(x, z) + Δ(y, z)) over the labellings z that agree with `y` where it is not void."""
    every = [z for z in labelings(len(unary), unary.shape[1]) if costs is not None or ((z == y) | (y < 0)).all()]
    extra = [torch.zeros(()) if costs is None else hamming(y, z, costs)[0] for z in every]
    values = [score(unary, interaction, edges, z) + more for z, more in zip(every, extra, strict=True)]
    return torch.logsumexp(torch.stack(values), 0)


def enumerated(potentials, y, costs=None):
    """−log p(y) of every graph, void nodes summed out."""
    costs = torch.zeros(len(y)) if costs is None else costs
    parts = graphs_of(replace(potentials, interaction=potentials.tables.contiguous()))
    return torch.stack([log_sum(u, t, e, y[i], costs[i]) - log_sum(u, t, e, y[i]) for u, t, e, i in parts])


def share(potentials):
    """The same graphs with the first table for all edges."""
    return replace(potentials, interaction=potentials.interaction[:1].clone())


@given(seed=st.integers(0, 2**16), shared=st.booleans(), void=st.booleans(), order=st.sampled_from([2, 3]))
def test_likelihood_equals_enumeration(seed, shared, void, order):
    potentials, y = random_potentials(seed, order=order)
    potentials = share(potentials) if shared and len(potentials.edges) else potentials
    if void:
        y[[0, 4]] = -1
    loss = CRFLoss(reduction="none")
    torch.testing.assert_close(loss(potentials, y), enumerated(potentials, y))
    assert loss.report.exact == 1
    single = replace(potentials, unary=potentials.unary.float(), interaction=potentials.interaction.float())
    found = loss(single, y)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), enumerated(potentials, y), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_margin_equals_enumeration(seed):
    potentials, y = random_potentials(seed)
    y[1] = -1
    class_weight, node_weight = torch.tensor([0.5, 1.0, 3.0]), torch.linspace(0.1, 2.0, len(y), dtype=torch.float64)
    loss = CRFLoss(margin=1.5, class_weight=class_weight, reduction="none")
    costs = 1.5 * node_costs(y, class_weight, node_weight)
    torch.testing.assert_close(loss(potentials, y, node_weight), enumerated(potentials, y, costs))


@pytest.mark.parametrize("seed", range(3))
def test_a_margin_for_every_pair_of_labels_equals_enumeration(seed):
    potentials, y = random_potentials(seed)
    square = torch.tensor([[0.0, 2.0, 0.5], [1.0, 0.0, 0.3], [0.7, 4.0, 0.0]])
    by_label = torch.rand(len(y), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    by_label = by_label.scatter(1, y[:, None], 0.0)
    for class_weight, node_weight in ((square, None), (None, by_label)):
        loss = CRFLoss(margin=1.5, class_weight=class_weight, reduction="none")
        costs = 1.5 * node_costs(y, class_weight, node_weight)
        torch.testing.assert_close(loss(potentials, y, node_weight), enumerated(potentials, y, costs))


@pytest.mark.parametrize("kind", [CRFLoss, PerturbedLoss])
@pytest.mark.parametrize("weight", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
def test_class_weights_need_one_entry_per_label(kind, weight):
    potentials, y = random_potentials(0)
    with pytest.raises(ValueError, match=f"class_weight needs 3 entries, one per label, got {len(weight)}"):
        kind(margin=1.0, class_weight=weight)(potentials, y)


def test_dropped_nodes_take_no_part():
    potentials, y = random_potentials(7, sizes=(4, 3))
    y[2] = -1
    kept = torch.tensor([0, 1, 3, 4, 5, 6])
    number = torch.full((7,), -1).scatter(0, kept, torch.arange(6))
    inside = (potentials.edges != 2).all(dim=1)
    edge_ptr = torch.tensor([0, *(int(inside[:e].sum()) for e in potentials.edge_ptr[1:])])
    alone = Potentials(
        potentials.unary[kept], potentials.interaction[inside], number[potentials.edges[inside]],
        torch.tensor([0, 3, 6]), edge_ptr,
    )  # fmt: skip
    loss = CRFLoss(void="drop", reduction="none")
    torch.testing.assert_close(loss(potentials, y), loss(alone, y[kept]))
    shared = CRFLoss(void="drop", reduction="none")(share(potentials), y)
    torch.testing.assert_close(shared, loss(replace(alone, interaction=potentials.interaction[:1]), y[kept]))


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("void", ["drop", "complete"])
@pytest.mark.parametrize("seed", range(3))
def test_gradient(seed, shared, void, reduction):
    potentials, y = random_potentials(seed)
    potentials = share(potentials) if shared else potentials
    y[0] = -1
    loss = CRFLoss(void=void, reduction=reduction)

    def value(unary, interaction):
        return loss(replace(potentials, unary=unary, interaction=interaction), y)

    assert torch.autograd.gradcheck(value, (potentials.unary.requires_grad_(), potentials.interaction.requires_grad_()))


@pytest.mark.parametrize("method", ["trw", "bethe"])
def test_gradients_of_message_passing(method):
    generator = torch.Generator().manual_seed(0)
    edges = torch.from_numpy(grid_edges(3, 3))
    unary = torch.randn(9, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    tables = (0.5 * torch.randn(len(edges), 2, 2, generator=generator, dtype=torch.float64)).requires_grad_()
    y = torch.randint(2, (9,), generator=generator)
    loss, exact = CRFLoss(method, tol=1e-12, max_iter=5000), CRFLoss()
    potentials = Potentials(unary, tables, edges)
    assert torch.autograd.gradcheck(lambda u, t: loss(replace(potentials, unary=u, interaction=t), y), (unary, tables))
    assert loss.report.status.tolist() == ["upper_bound" if method == "trw" else "approximation"]
    assert loss.report.converged.all()
    if method == "trw":
        assert loss(potentials, y) > exact(potentials, y)


def test_the_difference_of_two_bounds_is_called_no_bound():
    """Where void nodes are summed out, both sums may be upper bounds, and the loss is then on either side."""
    loss, exact = CRFLoss("trw"), CRFLoss()
    below = 0
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        edges = torch.combinations(torch.arange(6))
        tables = 3 * torch.randn(len(edges), 2, 2, generator=generator)
        potentials = Potentials(torch.randn(6, 2, generator=generator), tables, edges)
        y = torch.tensor([0, 1, -1, -1, -1, -1])
        below += bool(loss(potentials, y) < exact(potentials, y) - 1e-3)
        assert loss.report.status.tolist() == ["approximation"]
        assert loss(potentials, y.clamp_min(0)) > exact(potentials, y.clamp_min(0))
        assert loss.report.status.tolist() == ["upper_bound"]
    assert below > 0


def test_gradients_of_single_precision_and_of_half_have_its_type():
    potentials, y = random_potentials(1)
    for dtype in (torch.float32, torch.bfloat16):
        unary, tables = (t.to(dtype).requires_grad_() for t in (potentials.unary, potentials.interaction))
        CRFLoss()(replace(potentials, unary=unary, interaction=tables), y).backward()
        assert unary.grad.dtype == tables.grad.dtype == dtype
        torch.testing.assert_close(unary.grad.sum(), torch.zeros((), dtype=dtype), atol=1e-2, rtol=0)


def test_forbidden_labels_are_named():
    potentials, y = random_potentials(0)
    potentials.unary[1, y[1]] = -torch.inf
    for loss in (CRFLoss(), PerturbedLoss()):
        with pytest.raises(ValueError, match=r"node 1 of graph 0 .* −inf forbids"):
            loss(potentials, y)


def test_labels_that_are_not_forbidden_have_a_finite_loss():
    potentials, y = random_potentials(0)
    other = (y + 1) % 3
    potentials.unary.scatter_(1, other[:, None], -torch.inf)
    torch.testing.assert_close(CRFLoss(reduction="none")(potentials, y), enumerated(potentials, y))
    potentials.unary.requires_grad_()
    for loss in (CRFLoss(), CRFLoss(margin=1.0), PerturbedLoss(), PerturbedLoss(margin=1.0)):
        potentials.unary.grad = None
        loss(potentials, y).backward()
        assert torch.isfinite(potentials.unary.grad).all()
        assert (potentials.unary.grad.gather(1, other[:, None]) == 0).all()


BAD = [
    ({"method": "best"}, "method must be one of"),
    ({"void": "keep"}, "void must be one of"),
    ({"reduction": "max"}, "reduction must be one of"),
    ({"margin": -1.0}, "margin must be a finite number"),
    ({"class_weight": [1.0, 1.0]}, "class_weight must be None without a margin"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_wrong_options_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        CRFLoss(**change)


def test_weights_need_a_margin():
    potentials, y = random_potentials(0)
    with pytest.raises(ValueError, match="node_weight must be None without a margin"):
        CRFLoss()(potentials, y, torch.ones(len(y)))


@pytest.mark.parametrize("void", [-1, -100])
def test_labels_come_in_the_shape_of_the_chains(void):
    generator = torch.Generator().manual_seed(0)
    emissions, transitions = torch.randn(2, 4, 3, generator=generator), torch.randn(3, 3, generator=generator)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    y = torch.tensor([[0, 1, 2, 1], [2, void, 0, 0]], dtype=torch.int32)
    chains = Potentials.chain(emissions, transitions, mask)
    found = CRFLoss(reduction="none")(chains, y)
    expected = enumerated(chains, torch.tensor([0, 1, 2, 1, 2, -1]))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
