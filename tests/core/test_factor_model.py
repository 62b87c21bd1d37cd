"""A unary and an interaction factor applied to a batch."""

import pytest
import torch
from oracles import contrast_gradients, randomised
from torch import nn

from neuralfactors import Factor, FactorModel, Graph, GraphBatch


def batch(order=2):
    edges = [[0, 1], [1, 2]] if order == 2 else [[0, 1, 2]]
    return GraphBatch.from_graphs([Graph(torch.randn(3, 4), edges, torch.randn(len(edges), 2), order=order)])


@pytest.mark.parametrize("order", [2, 3])
def test_model_gives_potentials(order):
    model = FactorModel(Factor(4, 3), randomised(Factor(2, 3, order=order)), 3)
    graphs = batch(order)
    potentials = model(graphs)
    assert potentials.unary.shape == (3, 3)
    assert potentials.interaction.shape[1:] == (3,) * order
    torch.testing.assert_close(potentials.interaction.flatten(1), model.interaction(graphs.edge_features))


def test_model_takes_any_module_of_the_right_shape():
    model = FactorModel(nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 3)), nn.Linear(2, 9), 3)
    potentials = model(batch())
    assert potentials.unary.shape == (3, 3)
    assert potentials.interaction.shape == (2, 3, 3)
    plus, minus, features = torch.tensor([0, 4]), torch.tensor([1, 8]), torch.randn(2, 2)
    wanted = contrast_gradients(model.interaction, features, plus, minus)
    model.backward_contrast("interaction", features, torch.arange(2), plus, minus)
    for parameter, expected in zip(model.interaction.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, expected)


@pytest.mark.parametrize(
    ("unary", "interaction", "message"),
    [
        (Factor(5, 3), None, "the unary factor takes 5 features, but the nodes of the graphs have 4$"),
        (Factor(4, 3), Factor(0, 3, 2), "the interaction factor takes 0 features, but the edges of the graphs have 2$"),
        (nn.Linear(4, 2), nn.Linear(2, 9), r"the unary factor must return values of shape \(3, 3\), got \(3, 2\)"),
        (
            nn.Linear(4, 3),
            nn.Linear(2, 3),
            r"the interaction factor must return values of shape \(2, 9\), got \(2, 3\)",
        ),
    ],
)
def test_modules_of_the_wrong_shape_are_refused(unary, interaction, message):
    with pytest.raises(ValueError, match=message):
        FactorModel(unary, interaction, 3)(batch())


def test_rowwise_models_are_told_from_those_that_mix_rows():
    assert FactorModel(Factor(4, 3, hidden=(2,)), Factor(2, 3, order=2), 3).rowwise
    assert FactorModel(Factor(4, 3, hidden=(2,), dropout=0.5), None, 3).rowwise  # what was dropped is known
    assert not FactorModel(nn.Sequential(Factor(4, 3, hidden=(2,), dropout=0.5)), None, 3).rowwise
    assert not FactorModel(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3)), None, 3).rowwise


class Own(nn.Tanh):
    """Nobody knows what the `forward` of such a module does."""


def with_hook():
    layer = nn.Linear(4, 3)
    layer.register_forward_hook(lambda _module, _inputs, output: output - output.mean(dim=0))
    return layer


@pytest.mark.parametrize(
    ("factor", "trusted"),
    [
        (nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.PReLU(), nn.Linear(5, 3)), True),
        (nn.Sequential(nn.Sequential(Factor(4, 5, hidden=(2,))), nn.Identity(), nn.Linear(5, 3)), True),
        (Factor(4, 3, hidden=(2, 2), activation=nn.SELU, dropout=0.5), True),
        (nn.Sequential(nn.Linear(4, 3), nn.LayerNorm((6, 3))), False),
        (nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=0)), False),
        (nn.Sequential(nn.Linear(4, 3), nn.RReLU()), False),
        (nn.Sequential(nn.Linear(4, 3), Own()), False),
        (with_hook(), False),
        (Factor(4, 3, hidden=(2,), activation=nn.RReLU), False),
        (Factor(4, 3, hidden=(2,), activation=Own), False),
        (Factor(4, 3, hidden=(2,), activation=lambda: nn.Linear(2, 2)), False),
        (type("Mine", (Factor,), {})(4, 3), False),
    ],
)
def test_only_known_modules_are_trusted_to_be_rowwise(factor, trusted):
    assert FactorModel(factor, None, 3).rowwise is trusted
    assert FactorModel(nn.Linear(4, 3), factor, 3).rowwise is trusted


def test_model_without_interactions_gives_zeros():
    assert FactorModel(Factor(4, 3), None, 3)(batch()).interaction.abs().sum() == 0


@pytest.mark.parametrize("order", [2, 3])
def test_edges_without_features_share_a_table_in_prediction(order):
    model = FactorModel(randomised(Factor(4, 3)), randomised(Factor(0, 3, order=order)), 3)
    graphs = GraphBatch.from_graphs(
        [Graph(torch.randn(4, 4), torch.arange(order) + torch.tensor([[0], [1]]), order=order)]
    )
    with torch.no_grad():
        found = model(graphs)
    assert found.shared
    torch.testing.assert_close(found.tables, model(graphs).interaction.detach())
