"""The loss of a labelling and its place in inference, against sums written out by hand."""

import torch
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
