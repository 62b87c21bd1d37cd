"""What potentials know of p(y) ∝ exp g(x, y): sums, samples and best labellings on tensors."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import graphs_of, labelings, random_potentials, score

from neuralfactors import Potentials


def probabilities(unary, interaction, edges):
    """Every labelling of one graph, and log p of each."""
    every = list(labelings(len(unary), unary.shape[1]))
    return every, torch.log_softmax(torch.stack([score(unary, interaction, edges, y) for y in every]), 0)


@given(seed=st.integers(0, 2**16), forbid=st.booleans())
def test_entropy_and_marginals_equal_enumeration(seed, forbid):
    potentials, y = random_potentials(seed)
    if forbid:
        potentials.unary.scatter_(1, ((y + 1) % 3)[:, None], -torch.inf)
    entropy, found = potentials.entropy(), potentials.marginals()
    for g, (unary, table, edges, nodes) in enumerate(graphs_of(potentials)):
        every, log_p = probabilities(unary, table, edges)
        p = log_p.exp()
        expected = -torch.where(p > 0, p * log_p, 0.0).sum()
        torch.testing.assert_close(entropy[g], expected, atol=1e-9, rtol=1e-9)
        for i in range(len(unary)):
            shares = [p[[k for k, z in enumerate(every) if z[i] == a]].sum() for a in range(3)]
            torch.testing.assert_close(found.nodes[nodes][i], torch.stack(shares))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("order", [2, 3])
def test_the_gradient_of_log_z_are_the_marginals(order, shared):
    potentials, _ = random_potentials(4, order=order)
    tables = potentials.interaction[:1].clone() if shared else potentials.interaction
    inputs = potentials.unary.requires_grad_(), tables.requires_grad_()

    def value(unary, interaction):
        return replace(potentials, unary=unary, interaction=interaction).log_partition()

    assert torch.autograd.gradcheck(value, inputs)
    given = replace(potentials, unary=inputs[0], interaction=inputs[1])
    gradient = torch.autograd.grad(given.log_partition().sum(), inputs)
    found = given.marginals()
    torch.testing.assert_close(gradient[0], found.nodes)
    torch.testing.assert_close(gradient[1], found.edges.sum(dim=0, keepdim=True) if shared else found.edges)


def test_graphs_without_edges_or_nodes():
    unary = torch.log(torch.tensor([[1.0, 3.0]], dtype=torch.float64)).requires_grad_()
    pointers = torch.tensor([0, 1, 1]), torch.tensor([0, 0, 0])
    for tables in (torch.zeros(0, 2, 2).double(), torch.zeros(1, 2, 2).double()):
        potentials = Potentials(unary, tables.requires_grad_(), torch.zeros(0, 2).long(), *pointers)
        torch.testing.assert_close(potentials.log_partition().exp(), torch.tensor([4.0, 1.0], dtype=torch.float64))
        potentials.log_partition().sum().backward()
        assert (tables.grad == 0).all()
    torch.testing.assert_close(unary.grad, torch.tensor([[0.5, 1.5]], dtype=torch.float64))


def test_log_z_of_single_precision_is_summed_in_double():
    potentials, _ = random_potentials(1, sizes=(6,), n_labels=2)
    single = replace(potentials, unary=potentials.unary.float() + 1e4, interaction=potentials.interaction.float())
    assert single.log_partition().dtype == torch.float32
    double = replace(single, unary=single.unary.double(), interaction=single.interaction.double())
    torch.testing.assert_close(single.log_partition().double(), double.log_partition(), rtol=1e-7, atol=0)
    torch.testing.assert_close(single.marginals().nodes.double(), double.marginals().nodes, atol=1e-6, rtol=0)


def test_samples_come_from_the_generator():
    potentials, _ = random_potentials(5)
    draw = [potentials.sample(4000, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4)]
    assert draw[0].shape == (4000, 7)
    assert (draw[0] == draw[1]).all()
    assert (draw[0] != draw[2]).any()
    shares = torch.stack([(draw[0] == a).double().mean(dim=0) for a in range(3)], dim=1)
    torch.testing.assert_close(shares, potentials.marginals().nodes, atol=0.03, rtol=0)
    torch.manual_seed(0)
    first = potentials.sample()
    torch.manual_seed(0)
    assert (first == potentials.sample()).all()


@pytest.mark.parametrize("order", [2, 3])
def test_the_first_of_the_best_is_the_argmax(order):
    potentials, _ = random_potentials(6, order=order)
    best = potentials.topk(3)
    assert set(best.status) == {"optimal"}
    assert (best.labels[0] == potentials.argmax()).all()
    torch.testing.assert_close(best.score, torch.stack([potentials.score(y) for y in best.labels]))
    assert (best.score.diff(dim=0) <= 0).all()


def test_chains_get_labels_in_their_shape():
    emissions, mask = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0)), torch.ones(2, 4).bool()
    mask[1, 2:] = False
    chain = Potentials.chain(emissions, torch.eye(3), mask)
    assert chain.argmax().shape == (2, 4)
    assert chain.topk(2).labels.shape == (2, 2, 4)
    torch.testing.assert_close(chain.score(chain.argmax()), chain.topk(1).score[0])
    torch.testing.assert_close(chain.score(chain.argmax().to(torch.int32)), chain.score(chain.argmax()[mask]))
    shares = chain.unflatten(chain.marginals().nodes)
    torch.testing.assert_close(shares.sum(dim=2), mask.float())
    samples = chain.sample(5)
    assert samples.shape == (5, 2, 4)
    assert (samples[:, 1, 2:] == -1).all()


def test_moving_keeps_pointers_where_they_are():
    potentials, y = random_potentials(0)
    moved = potentials.to("meta")
    assert moved.unary.device.type == moved.edges.device.type == "meta"
    assert moved.node_ptr.device.type == "cpu"
    torch.testing.assert_close(potentials.to("cpu").score(y), potentials.score(y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (torch.zeros(2, 4), r"y must contain integers of shape \(6,\) or \(2, 4\), got torch.float32"),
        (torch.zeros(2, 3).long(), r"y must contain integers of shape \(6,\) or \(2, 4\), got torch.int64"),
        (torch.full((6,), -1), "y must contain labels from 0 to 2, got -1"),
        (torch.full((2, 4), 3), "y must contain labels from 0 to 2, got 3"),
    ],
)
def test_only_labels_have_a_score(y, message):
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    with pytest.raises(ValueError, match=message):
        Potentials.chain(torch.zeros(2, 4, 3), torch.eye(3), mask).score(y)


def test_torch_func_differentiates_log_z():
    potentials, _ = random_potentials(2)

    def value(unary):
        return replace(potentials, unary=unary).log_partition().sum()

    torch.testing.assert_close(torch.func.grad(value)(potentials.unary), potentials.marginals().nodes)


def test_a_second_derivative_of_log_z_is_refused():
    unary = torch.randn(1, 3, 2, requires_grad=True)
    value = Potentials.chain(unary, torch.eye(2)).log_partition().sum()
    (gradient,) = torch.autograd.grad(value, unary, create_graph=True)
    with pytest.raises(RuntimeError, match="can be differentiated once only"):
        (gradient**2).sum().backward()
