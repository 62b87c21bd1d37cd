"""Factors: initialisation, symmetry, gradients of a contrast against autograd, other modules in their place."""

import pytest
import torch
from oracles import contrast_gradients, randomised
from torch import nn

from neuralfactors import Factor, FactorModel
from neuralfactors._core import factors
from neuralfactors._core.layers import ACTIVATIONS, Dropout, Workspace


def test_output_starts_at_zero_and_hidden_as_glorot():
    factor = Factor(50, 3, hidden=(40, 30), generator=torch.Generator().manual_seed(0))
    assert factor(torch.randn(7, 50)).abs().max() == 0
    first, second = (layer for layer in factor.hidden if isinstance(layer, nn.Linear))
    for layer, limit in ((first, (6 / 90) ** 0.5), (second, (6 / 70) ** 0.5)):
        assert 0.9 * limit < layer.weight.abs().max() <= limit
        assert layer.bias.abs().max() == 0


def test_initialisation_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    Factor(5, 3, hidden=(4,), generator=torch.Generator().manual_seed(0))
    assert torch.equal(before, torch.get_rng_state())


def test_linear_factor_without_features_is_a_table():
    factor = randomised(Factor(0, 3, order=2))
    values = factor(torch.zeros(4, 0))
    assert values.shape == (4, 9)
    assert torch.equal(values[0], factor.bias)


@pytest.mark.parametrize(("order", "n_outputs"), [(2, 10), (3, 20)])
def test_symmetric_factor_ignores_the_order_of_nodes(order, n_outputs):
    factor = randomised(Factor(5, 4, order=order, hidden=(6,), symmetric=True))
    assert factor.weight.shape == (n_outputs, 6)
    table = factor(torch.randn(2, 5)).view((2,) + (4,) * order)
    torch.testing.assert_close(table, table.transpose(1, 2))
    torch.testing.assert_close(table, table.transpose(-1, -2))


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_activations_by_name(activation):
    assert isinstance(Factor(2, 2, hidden=(3,), activation=activation).hidden[1], ACTIVATIONS[activation])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"activation": "sine"}, "activation must be one of .*'tanh'.* or a callable, got 'sine'"),
        ({"n_labels": 0}, "n_labels, order and hidden units must be integers ≥ 1 .*got n_labels=0"),
        ({"hidden": (3, 0)}, r"hidden=\(3, 0\)"),
        ({"hidden": (4.5,)}, r"hidden=\(4.5,\)"),
        ({"hidden": 3}, r"hidden must be a sequence with the units of each layer, got 3: try \(3,\)"),
        ({"hidden": (3,), "dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Factor(**{"n_features": 2, "n_labels": 2, **arguments})


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
@pytest.mark.parametrize("bias", [False, True])
def test_contrast_gives_the_gradients_of_dense_outputs(hidden, symmetric, bias):
    factor = randomised(Factor(3, 3, order=2, hidden=hidden, symmetric=symmetric, bias=bias)).double()
    features = torch.randn(6, 3, dtype=torch.float64)
    plus, minus = torch.tensor([0, 1, 5, 8, 2, 2]), torch.tensor([3, 1, 5, 0, 2, 7])
    wanted = contrast_gradients(factor, features, plus, minus)
    for _ in range(2):  # gradients add up
        factor.backward_contrast(features, plus, minus)
    for parameter, expected in zip(factor.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, 2 * expected)


def test_contrast_leaves_frozen_parameters_alone():
    factor = randomised(Factor(3, 3, hidden=(4,)))
    features, plus, minus = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1]), torch.tensor([1, 2, 0, 2, 0])
    wanted = contrast_gradients(factor, features, plus, minus)
    factor.weight.requires_grad_(False)
    factor.bias.requires_grad_(False)
    factor.backward_contrast(features, plus, minus)
    assert factor.weight.grad is None
    assert factor.bias.grad is None
    torch.testing.assert_close(factor.hidden[0].weight.grad, wanted[2])


@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"bias": False}, {"dropout": 0.5}])
@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
@pytest.mark.parametrize("hidden", [(), (5, 4)])
def test_evaluation_in_a_workspace_equals_forward(monkeypatch, hidden, activation, options):
    monkeypatch.setattr(factors, "FORWARD_ROWS", 4)
    factor = randomised(Factor(3, 3, order=2, hidden=hidden, activation=activation, **options)).eval()
    workspace = Workspace()
    for n_rows in (10, 3, 0):
        features = torch.randn(n_rows, 3)
        before = features.clone()
        with torch.no_grad():
            values = factor.evaluate(features, workspace, "f")
        torch.testing.assert_close(values, factor(features).detach())
        assert torch.equal(features, before)


@pytest.mark.parametrize("share", [0.001, 0.3, 0.5, 0.999])
def test_dropout_drops_its_share_and_keeps_the_mean(share):
    torch.manual_seed(0)
    dropout, ones = Dropout(share), torch.ones(300, 501, requires_grad=True)
    values = dropout(ones)
    kept = float((values > 0).float().mean())
    assert abs(kept - (1 - share)) < 0.004
    deviation = (share / (1 - share) / ones.numel()) ** 0.5
    assert float(values.detach().mean()) == pytest.approx(1.0, abs=6 * deviation + 1e-6)
    values.sum().backward()
    assert torch.equal(ones.grad, values.detach())
    assert torch.equal(dropout.eval()(ones), ones)


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
@pytest.mark.parametrize("hidden", [(), (6,), (6, 5)])
def test_dropout_is_the_same_forward_and_backward(monkeypatch, hidden, activation):
    """Units that dropout leaves have the weights that they would have in a network without the others."""
    monkeypatch.setattr(factors, "FORWARD_ROWS", 4)
    factor = randomised(Factor(3, 3, hidden=hidden, activation=activation, dropout=0.4)).double()
    model, workspace, features = FactorModel(factor, None, 3), Workspace(), torch.randn(10, 3, dtype=torch.float64)
    with torch.no_grad():
        values = factor.evaluate(features, workspace, "unary").clone()
    masks = iter(workspace.masks["unary"])
    expected = features
    for module in factor.hidden:
        expected = expected * next(masks) * module.scale if isinstance(module, Dropout) else module(expected)
    expected = nn.functional.linear(expected, factor.weight, factor.bias)
    torch.testing.assert_close(values, expected.detach())
    rows, plus, minus = torch.tensor([1, 4, 7]), torch.randint(3, (10,)), torch.randint(3, (10,))
    dense = (expected.gather(1, plus[:, None]) - expected.gather(1, minus[:, None]))[rows]
    wanted = torch.autograd.grad(dense.sum(), list(factor.parameters()))
    model.backward_contrast("unary", features, rows, plus, minus, workspace)
    for parameter, gradient in zip(factor.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)
