"""Tables of different sizes one after the other: entries, padding and gradients, beside the padded potentials."""

import itertools
from dataclasses import replace

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


def enumerated(potentials):
    """Of every graph: its nodes, all labellings, and log p of each; with scores that do not use the library's own."""
    tables = iter(potentials.interaction.split([*potentials.sizes[potentials.edges].prod(dim=1).tolist()]))
    for g in range(potentials.n_graphs):
        first, end = potentials.node_ptr[g : g + 2].tolist()
        edges = potentials.edges[potentials.edge_ptr[g] : potentials.edge_ptr[g + 1]] - first
        every = list(itertools.product(*(range(n) for n in potentials.sizes[first:end].tolist())))
        rows = potentials.unary[first:end]
        scores = torch.stack([rows[torch.arange(len(y)), list(y)].sum() for y in every])
        for u, v in edges.tolist():
            table = next(tables).view(-1, int(potentials.sizes[first + v]))
            scores += torch.stack([table[y[u], y[v]] for y in every])
        yield slice(first, end), every, scores, scores.logsumexp(0)


def forbid(potentials, y, seed):
    """The same with a third of all entries −inf, none of those that `y` selects."""
    generator = torch.Generator().manual_seed(seed)
    unary, tables = potentials.unary.clone(), potentials.interaction.clone()
    keep = torch.zeros_like(unary, dtype=torch.bool).scatter(1, y[:, None], True)
    unary[(torch.rand(unary.shape, generator=generator) < 0.3) & ~keep] = -torch.inf
    first = potentials.sizes[potentials.edges].prod(dim=1).cumsum(0) - potentials.sizes[potentials.edges].prod(dim=1)
    u, v = potentials.edges.T
    kept = torch.zeros_like(tables, dtype=torch.bool)
    kept[first + y[u] * potentials.sizes[v] + y[v]] = True
    tables[(torch.rand(tables.shape, generator=generator) < 0.3) & ~kept] = -torch.inf
    return replace(potentials, unary=unary, interaction=tables)


@given(drawn=ragged(max_nodes=6), seed=st.integers(0, 99), forbidden=st.booleans())
def test_sums_equal_enumeration(drawn, seed, forbidden):
    y = torch.randint(99, drawn[0].sizes.shape, generator=torch.Generator().manual_seed(seed)) % drawn[0].sizes
    own = forbid(drawn[0], y, seed) if forbidden else drawn[0]
    given_labels = torch.where(torch.arange(len(y)) == seed % len(y), -1, y)
    loss = CRFLoss(reduction="none")(own, given_labels)
    found, entropy, best, samples = own.marginals(), own.entropy(), own.topk(2), own.sample(9)
    for g, (nodes, every, scores, log_z) in enumerate(enumerated(own)):
        p = (scores - log_z).exp()
        torch.testing.assert_close(found.log_partition[g], log_z)
        torch.testing.assert_close(entropy[g], -torch.special.xlogy(p, p).sum(), atol=1e-9, rtol=1e-9)
        for i, row in enumerate(found.nodes[nodes]):
            shares = [sum(q for q, z in zip(p.tolist(), every, strict=True) if z[i] == a) for a in range(len(row))]
            assert row.tolist() == pytest.approx(shares, abs=1e-9)
        ranked = scores.sort(descending=True).values[:2]
        torch.testing.assert_close(best.score[: len(ranked), g], ranked)
        assert {tuple(z) for z in samples[:, nodes].tolist()} <= {z for z, q in zip(every, p, strict=True) if q > 0}
        agree = [all(a in (-1, b) for a, b in zip(given_labels[nodes].tolist(), z, strict=True)) for z in every]
        torch.testing.assert_close(loss[g], log_z - scores[torch.tensor(agree)].logsumexp(0), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("method", ["exact", "trw", "bethe"])
def test_gradients_of_the_likelihood(method):
    generator = torch.Generator().manual_seed(1)
    sizes, edges = [2, 3, 1, 2, 3], torch.tensor([[0, 1], [1, 2], [3, 1], [3, 0], [4, 4]])
    tables = [0.5 * torch.randn(sizes[u], sizes[v], generator=generator).double() for u, v in edges.tolist()]
    rows = [torch.randn(n, generator=generator).double() for n in sizes]
    own = Potentials.ragged(rows, tables, edges, torch.tensor([0, 4, 5]), torch.tensor([0, 4, 5]))
    loss = CRFLoss(method, tol=1e-12, max_iter=5000, reduction="none")
    y = torch.tensor([1, -1, 0, 1, 2])

    def value(unary, interaction):
        return loss(replace(own, unary=unary, interaction=interaction), y)

    scores = own.unary.masked_fill(absent_labels(own.sizes, own.n_labels), 0.0).requires_grad_()
    assert torch.autograd.gradcheck(value, (scores, own.interaction.clone().requires_grad_()))


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


@pytest.mark.parametrize("edge", [[-1, 0], [0, 2]])
def test_node_numbers_that_do_not_exist_are_refused(edge):
    with pytest.raises(ValueError, match=rf"edges must contain node numbers from 0 to 1, got \[{edge[0]}, {edge[1]}\]"):
        Potentials(torch.zeros(2, 2), torch.zeros(4), torch.tensor([edge]), sizes=torch.tensor([2, 2]))
