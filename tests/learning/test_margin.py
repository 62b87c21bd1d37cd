"""The loss of a labelling and its place in inference, against sums written out by hand."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import random_potentials

from neuralfactors.learning._margin import hamming, loss_augment, node_costs


def test_loss_augmentation_adds_the_loss():
    potentials, y = random_potentials(2)
    y[0] = -1
    costs = node_costs(y, torch.tensor([1.0, 2.0, 0.5]), torch.rand(len(y), dtype=torch.float64))
    augmented = loss_augment(potentials, y, costs)
    z = torch.randint(3, y.shape)
    loss = hamming(y, z, costs, potentials.node_graph, potentials.n_graphs)
    torch.testing.assert_close(augmented.score(z), potentials.score(z) + loss)


def test_void_nodes_cost_nothing():
    y = torch.tensor([0, -1, 2])
    assert node_costs(y).tolist() == [1.0, 0.0, 1.0]
    assert node_costs(y, torch.tensor([2.0, 5.0, 3.0]), torch.tensor([1.0, 1.0, 0.5])).tolist() == [2.0, 0.0, 1.5]
    assert hamming(y, torch.tensor([1, 1, 2]), node_costs(y)).tolist() == [1.0]


def test_costs_of_every_label_take_the_place_of_one_for_all_wrong_ones():
    potentials, y = random_potentials(2)
    matrix = 1 - torch.eye(potentials.n_labels, dtype=torch.float64)
    one, every = node_costs(y).double(), node_costs(y, matrix)
    z = torch.roll(y, 1)
    assert hamming(y, z, every).item() == hamming(y, z, one).item() == int((y != z).sum())
    torch.testing.assert_close(loss_augment(potentials, y, every).unary, loss_augment(potentials, y, one).unary)


@given(seed=st.integers(0, 2**16), wide=st.booleans(), matrix=st.booleans())
def test_costs_are_those_written_out_by_hand(seed, wide, matrix):
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(-1, 3, (6,), generator=generator)
    z = torch.randint(0, 3, (6,), generator=generator)
    eta = torch.rand(3, 3, generator=generator).fill_diagonal_(0) if matrix else torch.rand(3, generator=generator)
    weight = torch.rand((6, 3) if wide else (6,), generator=generator)
    if wide:
        weight[torch.arange(6), y.clamp_min(0)] = 0  # the right label is free
    expected = 0.0
    for node, (true, found) in enumerate(zip(y.tolist(), z.tolist(), strict=True)):
        if true >= 0 and true != found:
            expected += float(eta[true, found] if matrix else eta[true]) * float(
                weight[node, found] if wide else weight[node]
            )
    costs = node_costs(y, eta, weight)
    assert costs.ndim == (2 if wide or matrix else 1)
    assert hamming(y, z, costs).item() == pytest.approx(expected, abs=1e-6)


def test_losses_of_several_graphs_are_apart():
    y, z = torch.tensor([0, 1, 2, 1]), torch.tensor([1, 1, 0, 1])
    graph = torch.tensor([0, 0, 1, 2])
    assert hamming(y, z, node_costs(y), graph, 4).tolist() == [1.0, 1.0, 0.0, 0.0]
