"""A factor for every type of nodes and pair of types: each scores its own rows."""

import pytest
import torch
from torch import nn

from neuralfactors import Graph
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.typed_model import TypedModel


def batch():
    one = Graph([[1.0], [2.0], [3.0]], [[0, 1], [2, 0], [0, 2], [1, 1]], [[1.0]] * 4, node_types=[0, 1, 0])
    return GraphBatch.from_graphs([one, one], torch.float64)


def model(type_labels=(2, 3)):
    pairs = {(0, 0): 4, (0, 1): type_labels[0] * type_labels[1]}
    torch.manual_seed(0)
    unary = [nn.Linear(1, n) for n in type_labels]
    return TypedModel(unary, {pair: nn.Linear(1, n) for pair, n in pairs.items()}, type_labels).double()


def test_every_row_and_table_comes_from_the_factor_of_its_types():
    typed, given = model(), batch()
    potentials = typed(given)
    assert potentials.sizes.tolist() == [2, 3, 2] * 2
    for i, kind in enumerate([0, 1, 0]):
        expected = typed.unary[kind](given.node_features[i])
        torch.testing.assert_close(potentials.unary[i, : len(expected)], expected)
    first = potentials.graph(0)
    tables = first.tables
    torch.testing.assert_close(tables[0][:2], typed.interaction["0-1"](torch.ones(1).double()).view(2, 3))
    for e in (1, 2):
        torch.testing.assert_close(tables[e][:2, :2], typed.interaction["0-0"](torch.ones(1).double()).view(2, 2))
    assert not tables[3].any()  # edges between nodes of type 1 have no factor
    y = torch.tensor([1, 2, 0])
    torch.testing.assert_close(potentials.score(y.repeat(2)), first.score(y).repeat(2))


def test_gradients_reach_every_factor():
    typed = model()
    typed(batch()).score(torch.tensor([1, 2, 0] * 2)).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in typed.parameters())
    assert not typed.rowwise


def test_types_with_as_many_labels_make_plain_potentials():
    potentials = model((2, 2))(batch())
    assert potentials.sizes is None
    assert potentials.interaction.shape == (8, 2, 2)


def test_what_is_refused():
    with pytest.raises(ValueError, match="the graphs have no node_types"):
        model()(GraphBatch.from_graphs([Graph([[1.0]])], torch.float64))
    wrong = TypedModel([nn.Linear(1, 2), nn.Linear(1, 2)], {}, (2, 3)).double()
    with pytest.raises(ValueError, match=r"the unary\[1\] factor must return values of shape \(2, 3\), got \(2, 2\)"):
        wrong(batch())
