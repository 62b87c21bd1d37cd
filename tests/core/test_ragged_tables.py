"""Tables of different sizes one after the other: entries, padding and gradients, beside the padded potentials."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors import Potentials
from neuralfactors._core.ragged_tables import RaggedTables, absent_labels
from neuralfactors.learning import CRFLoss, StructuredHingeLoss, decode, perturbed_marginals
from neuralfactors.learning._decode import clamp_labelled, node_scores


@st.composite
def ragged(draw, max_nodes=4):
    """Two graphs with edges of any kind, as ragged potentials and padded with forbidden labels."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=max_nodes))
    half = len(sizes) // 2
    parts = [(0, half), (half, len(sizes))]
    pairs = [draw(st.lists(st.tuples(*[st.integers(a, b - 1)] * 2), max_size=3)) for a, b in parts]
    edges = torch.tensor([p for part in pairs for p in part], dtype=torch.int64).reshape(-1, 2)
    rows = [torch.randn(n, generator=generator, dtype=torch.float64) for n in sizes]
    tables = [torch.randn(sizes[u], sizes[v], generator=generator, dtype=torch.float64) for u, v in edges.tolist()]
    pointers = torch.tensor([0, half, len(sizes)]), torch.tensor([0, len(pairs[0]), len(edges)])
    potentials = Potentials.ragged(rows, tables, edges, *pointers)
    return potentials, potentials.padded()


LOSSES = StructuredHingeLoss(), CRFLoss(), StructuredHingeLoss(void="drop"), CRFLoss(void="drop")


def labellings(potentials):
    return map(torch.tensor, itertools.product(*(range(n) for n in potentials.sizes.tolist())))


@given(drawn=ragged())
def test_every_labelling_scores_what_it_scores_padded(drawn):
    own, padded = drawn
    for y in labellings(own):
        torch.testing.assert_close(own.score(y), padded.score(y))
        torch.testing.assert_close(own.contrast(y, torch.zeros_like(y)), padded.contrast(y, torch.zeros_like(y)))


@given(drawn=ragged(), seed=st.integers(0, 99))
def test_losses_and_their_gradients_are_those_of_padded_potentials(drawn, seed):
    own, padded = drawn
    y = torch.randint(99, own.sizes.shape, generator=torch.Generator().manual_seed(seed)) % own.sizes
    for labels in (y, torch.where(torch.arange(len(y)) == seed % len(y), -1, y)):
        for loss in LOSSES[seed % 2 :: 2]:
            tables = own.interaction.clone().requires_grad_()
            rival = Potentials(own.unary, tables, own.edges, own.node_ptr, own.edge_ptr, sizes=own.sizes)
            twin = padded.interaction.clone().requires_grad_()
            value = loss(rival, labels)
            other = loss(Potentials(padded.unary, twin, padded.edges, padded.node_ptr, padded.edge_ptr), labels)
            torch.testing.assert_close(value, other)
            if value.requires_grad and isinstance(loss, CRFLoss):  # a hinge may have several subgradients
                torch.autograd.backward([value, other])
                padded_gradient = own._tables.padded(tables.grad)
                torch.testing.assert_close(padded_gradient, twin.grad)


@given(drawn=ragged())
def test_sums_and_best_labellings(drawn):
    own, padded = drawn
    torch.testing.assert_close(own.log_partition(), padded.log_partition())
    torch.testing.assert_close(own.entropy(), padded.entropy())
    found, twin = own.marginals(), padded.marginals()
    torch.testing.assert_close(found.nodes, twin.nodes)
    torch.testing.assert_close(own._tables.padded(found.edges), twin.edges)
    torch.testing.assert_close(own.topk(2).score, padded.topk(2).score)
    shares = perturbed_marginals(own, 3).edges
    torch.testing.assert_close(own._tables.padded(shares), perturbed_marginals(padded, 3).edges)
    best = max(labellings(own), key=lambda y: float(own.score(y).sum()))
    torch.testing.assert_close(own.score(decode(own)), own.score(best))
    torch.testing.assert_close(own.score(own.argmax()), own.score(best))
    scores = node_scores(own)
    assert (torch.from_numpy(scores) == -torch.inf)[absent_labels(own.sizes, own.n_labels)].all()
    clamped = clamp_labelled(own, torch.where(torch.arange(len(best)) == 0, best, -1))
    torch.testing.assert_close(own.score(decode(clamped)), own.score(best))


@given(drawn=ragged())
def test_graphs_of_a_batch_alone(drawn):
    own, _ = drawn
    y = torch.zeros_like(own.sizes)
    alone = [own.graph(g).score(y[own.node_graph == g]) for g in range(own.n_graphs)]
    torch.testing.assert_close(torch.cat(alone), own.score(y))


def test_padding_and_its_gradient():
    tables = RaggedTables.of(torch.tensor([2, 3]), torch.tensor([[0, 1]]), 3)
    flat = torch.arange(6.0, dtype=torch.float64).requires_grad_()
    assert tables.padded(flat).tolist() == [[[0, 1, 2], [3, 4, 5], [0, 0, 0]]]
    torch.autograd.gradcheck(tables.padded, flat)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": torch.tensor([2, 4])}, "sizes must be int64, one per row of unary, from 1 to its 3 columns"),
        ({"sizes": torch.tensor([2])}, "sizes must be int64, one per row of unary"),
        ({"interaction": torch.zeros(5)}, "interaction must be a vector of the 6 entries of all tables"),
        ({"edges": torch.zeros(1, 3).long()}, r"edges must be int64 of shape \(E, 2\)"),
    ],
)
def test_what_is_refused(change, message):
    good = {
        "unary": torch.zeros(2, 3), "interaction": torch.zeros(6), "edges": torch.tensor([[0, 1]]),
        "sizes": torch.tensor([2, 3]),
    }  # fmt: skip
    Potentials(**good)
    with pytest.raises(ValueError, match=message):
        Potentials(**(good | change))


def test_labels_that_a_node_does_not_have_are_refused():
    own = Potentials.ragged([torch.zeros(2), torch.zeros(3)], [torch.zeros(2, 3)], torch.tensor([[0, 1]]))
    with pytest.raises(ValueError, match="y has label 2 at node 0, whose labels are 0 to 1"):
        StructuredHingeLoss()(own, torch.tensor([2, 2]))
    for y, told in (
        ([2, 2], "y has label 2 at node 0, whose labels are 0 to 1"),
        ([0, 3], "y must contain labels from 0 to 2, got 3"),
        ([0, -1], "y must contain labels from 0 to 2, got -1"),
    ):
        with pytest.raises(ValueError, match=told):
            own.score(torch.tensor(y))
    with pytest.raises(ValueError, match=r"the table of edge \(0, 1\) must have shape \(2, 3\), got \(3, 2\)"):
        Potentials.ragged([torch.zeros(2), torch.zeros(3)], [torch.zeros(3, 2)], torch.tensor([[0, 1]]))
