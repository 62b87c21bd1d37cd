"""Scores and contrasts against sums written out by hand."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import graphs_of, random_potentials, score

from neuralfactors import Potentials


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_score_is_the_sum_of_selected_values(seed, order):
    potentials, y = random_potentials(seed, order=order)
    expected = [score(unary, interaction, edges, y[i]) for unary, interaction, edges, i in graphs_of(potentials)]
    torch.testing.assert_close(potentials.score(y), torch.stack(expected))


@pytest.mark.parametrize("order", [2, 3])
def test_contrast_is_the_difference_of_scores(order):
    potentials, y = random_potentials(3, order=order)
    z = torch.roll(y, 1)
    torch.testing.assert_close(potentials.contrast(z, y), potentials.score(z) - potentials.score(y))
    assert potentials.contrast(y, y).tolist() == [0.0, 0.0]


def test_contrast_does_not_cancel():
    potentials, y = random_potentials(0, sizes=(40,), n_labels=2)
    large = Potentials(potentials.unary.float() + 1e6, potentials.interaction.float(), potentials.edges)
    z = y.clone()
    z[0] = 1 - z[0]
    exact = Potentials(large.unary.double(), large.interaction.double(), large.edges).contrast(z, y)
    torch.testing.assert_close(large.contrast(z, y).double(), exact, atol=0.2, rtol=0)
    assert abs(float((large.score(z) - large.score(y)).double() - exact)) > 0.2


def test_reversing_an_edge_transposes_its_table():
    potentials, y = random_potentials(1)
    reverse = Potentials(
        potentials.unary, potentials.interaction.transpose(1, 2), potentials.edges.flip(1),
        potentials.node_ptr, potentials.edge_ptr,
    )  # fmt: skip
    torch.testing.assert_close(reverse.score(y), potentials.score(y))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_in_half_precision_are_added_up_in_single(dtype):
    y = torch.zeros(3000, dtype=torch.int64)
    unary, interaction = torch.ones(3000, 2, dtype=dtype), torch.ones(2999, 2, 2, dtype=dtype)
    chain = Potentials(unary, interaction, torch.stack([torch.arange(2999), torch.arange(1, 3000)], dim=1))
    assert chain.score(y).tolist() == [5999.0]


@pytest.mark.parametrize(
    ("one", "other"), [(torch.float64, torch.float32), (torch.float32, torch.float64), (torch.float32, torch.bfloat16)]
)
def test_unary_and_interaction_may_differ_in_type(one, other):
    potentials, y = random_potentials(0)
    mixed = Potentials(
        potentials.unary.to(one), potentials.interaction.to(other), potentials.edges,
        potentials.node_ptr, potentials.edge_ptr,
    )  # fmt: skip
    z = torch.roll(y, 1)
    assert mixed.score(y).dtype == torch.promote_types(one, other)
    torch.testing.assert_close(mixed.score(y), potentials.score(y).to(mixed.score(y)), rtol=0, atol=0.1)
    torch.testing.assert_close(mixed.contrast(z, y), mixed.score(z) - mixed.score(y), rtol=0, atol=1e-4)


def test_masked_leaves_out_nodes_and_the_edges_that_touch_them():
    potentials, _ = random_potentials(4, sizes=(3,))
    labelled = torch.tensor([True, False, True])
    masked = potentials.masked(labelled)
    assert masked.unary[1].abs().sum() == 0
    assert (masked.unary[0] == potentials.unary[0]).all()
    for e, nodes in enumerate(potentials.edges.tolist()):
        expected = potentials.interaction[e] * float(1 not in nodes)
        torch.testing.assert_close(masked.interaction[e], expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unary": torch.zeros(2)}, r"unary must have shape \(V, L\), got \(2,\)"),
        ({"interaction": torch.zeros(1, 3, 2)}, r"interaction must have shape \(1, 3, 3\), got \(1, 3, 2\)"),
        ({"interaction": torch.zeros(3, 3).expand(4, 3, 3)}, r"interaction must have shape .*, got \(4, 3, 3\)"),
        (
            {"edges": torch.tensor([[0], [1]])},
            r"edges must have shape \(1, 2\) for this interaction, got \(2, 1\): transpose them",
        ),
        (
            {"edges": torch.tensor([[0, 0, 0], [1, 1, 1]]), "interaction": torch.zeros(3, 3, 3)},
            r"edges must have shape \(3, 2\) for this interaction, got \(2, 3\): transpose them",
        ),
        ({"edges": torch.tensor([[0, 1]], dtype=torch.int32)}, r"edges must be int64 of shape .*, got torch.int32"),
        (
            {"node_ptr": torch.tensor([0, 1])},
            "node_ptr must be int64, start at 0, not decrease and end at the 2 rows of unary",
        ),
        ({"edge_ptr": torch.tensor([0, 1, 1])}, "node_ptr and edge_ptr must be of the same length, got 2 and 3"),
    ],
)
def test_bad_potentials_are_refused(arguments, message):
    good = {"unary": torch.zeros(2, 3), "interaction": torch.zeros(1, 3, 3), "edges": torch.tensor([[0, 1]])}
    with pytest.raises(ValueError, match=message):
        Potentials(**{**good, **arguments})


@given(seed=st.integers(0, 2**16), order=st.sampled_from([2, 3]))
def test_parts_of_a_batch_add_up(seed, order):
    potentials, y = random_potentials(seed, order=order)
    alone = [potentials.graph(g) for g in range(potentials.n_graphs)]
    pieces = [y[potentials.node_graph == g] for g in range(potentials.n_graphs)]
    scores = torch.cat([graph.score(part) for graph, part in zip(alone, pieces, strict=True)])
    torch.testing.assert_close(potentials.score(y), scores)
    nodes, edges = potentials.selected(y)
    torch.testing.assert_close(potentials.sum_by_graph(nodes, edges), scores)


@given(seed=st.integers(0, 2**16))
def test_a_constant_of_a_node_shifts_every_score(seed):
    potentials, y = random_potentials(seed)
    shift = torch.randn(len(y), 1, dtype=torch.float64)
    moved = potentials.with_unary(potentials.unary + shift)
    expected = potentials.score(y) + torch.zeros(2, dtype=torch.float64).index_add(
        0, potentials.node_graph, shift[:, 0]
    )
    torch.testing.assert_close(moved.score(y), expected)
    z = torch.roll(y, 1)
    torch.testing.assert_close(moved.contrast(z, y), potentials.contrast(z, y))
    assert torch.equal(moved.argmax(), potentials.argmax())


def test_one_table_is_kept_as_one_and_gets_one_gradient():
    table = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    apart = table.detach().expand(3, 3, 3).clone().requires_grad_()
    unary, edges, y = torch.randn(4, 3, dtype=torch.float64), torch.tensor([[0, 1], [1, 2], [2, 3]]), [0, 2, 2, 1]
    one, several = Potentials(unary, table, edges), Potentials(unary, apart, edges)
    assert one.shared
    assert not several.shared
    assert tuple(one.tables.shape) == (3, 3, 3)
    scores = [potentials.score(torch.tensor(y)) for potentials in (one, several)]
    torch.testing.assert_close(*scores)
    for total in scores:
        total.sum().backward()
    torch.testing.assert_close(table.grad, apart.grad.sum(0))


def test_edges_count_that_are_inside():
    potentials, y = random_potentials(5, sizes=(5,))
    z, inside = (y + 1) % 3, torch.tensor([True, True, False, True, True])
    found = potentials.contrast(z, y, inside)
    masked = potentials.masked(inside).with_unary(potentials.unary)
    torch.testing.assert_close(found, masked.score(z) - masked.score(y))


def test_moving_keeps_pointers_at_home():
    moved = random_potentials(0)[0].to("meta")
    assert {moved.unary.device.type, moved.interaction.device.type, moved.edges.device.type} == {"meta"}
    assert {moved.node_ptr.device.type, moved.edge_ptr.device.type} == {"cpu"}


@pytest.mark.parametrize("g", [-1, 2])
def test_a_graph_that_is_not_there_is_refused(g):
    with pytest.raises(ValueError, match=f"g must be from 0 to 1, got {g}"):
        random_potentials(0)[0].graph(g)


def test_what_is_no_tensor_is_no_labelling():
    with pytest.raises(ValueError, match="y must be a tensor, got list"):
        random_potentials(0)[0].score([0, 1])


def test_masking_a_table_that_all_share_leaves_edges_out_graph_by_graph():
    edges = torch.tensor([[0, 1], [1, 2], [3, 4], [4, 3]])
    pointers = torch.tensor([0, 3, 3, 5]), torch.tensor([0, 2, 2, 4])
    potentials = Potentials(torch.ones(5, 2), torch.eye(2), edges, *pointers)
    masked = potentials.masked(torch.tensor([True, True, False, True, True]))
    assert masked.shared
    assert masked.edges.tolist() == [[0, 1], [3, 4], [4, 3]]
    assert masked.edge_ptr.tolist() == [0, 1, 1, 3]
    assert masked.score(torch.zeros(5).long()).tolist() == [3.0, 0.0, 4.0]
