"""Hidden layers: as the paper initialises them, with dropout in expectation, and a fast pass that equals the plain."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from neuralfactors._core.layers import (
    ACTIVATIONS,
    IN_PLACE,
    Dropout,
    FastTanh,
    Workspace,
    activate,
    draw_masks,
    join_ones,
    make_hidden,
    stages,
    tanh_of_half_,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def without_gradient(hidden, features):
    """The values of all hidden layers by the fast pass, as factors compute them."""
    workspace, layers = Workspace(), stages(hidden)
    masks = draw_masks(layers, len(features), workspace, "unary", features) or [None] * len(layers)
    values, scale = join_ones(features), 1.0
    for k, (layer, mask) in enumerate(zip(layers, masks, strict=True)):
        weight = layer.weight(scale)
        out = workspace.take(f"values.{k}", len(features), weight.shape[1] + 1, features)
        values, scale = activate(values, weight, layer, mask, out), layer.scale
    return values[:, :-1] * scale


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fast_tanh(dtype):
    ends = torch.tensor([math.inf, -math.inf, 0.0, 1e-9, -1e4], dtype=dtype)
    values = torch.cat([torch.linspace(-30, 30, 10001, dtype=dtype), ends])
    expected, twice = torch.tanh(values), 2 * values
    assert tanh_of_half_(twice) is twice
    torch.testing.assert_close(twice, expected, rtol=0, atol=3 * torch.finfo(dtype).eps)
    assert twice.abs().max() <= 1
    assert torch.equal(FastTanh.apply(values), twice)
    assert tanh_of_half_(torch.tensor([math.nan])).isnan().all()


def test_the_gradient_of_fast_tanh():
    values = torch.linspace(-3, 3, 13, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(FastTanh.apply, values)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_layer_by_parts_is_the_layer(activation, dropout):
    hidden = make_hidden((5, 7), activation, True, dropout, seeded()).double().train()
    features, (layer,) = torch.randn(4, 5, generator=seeded(1)).double().requires_grad_(), stages(hidden)
    torch.manual_seed(3)
    expected = hidden(features)
    mask = (expected != 0).byte() if dropout else None
    for left in (None, mask):
        torch.manual_seed(3)
        found = layer.differentiable(features, left)
        torch.testing.assert_close(found, expected)
        pairs = [torch.autograd.grad(values.sum(), features, retain_graph=True)[0] for values in (found, expected)]
        torch.testing.assert_close(*pairs)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@torch.no_grad()
def test_the_fast_pass_is_the_plain_one(activation, bias):
    hidden = make_hidden((5, 7, 3), activation, bias, 0.0, seeded()).double()
    for module in hidden:
        if isinstance(module, nn.Linear) and bias:
            module.bias.uniform_(-1, 1, generator=seeded(1))
    for n_rows in (0, 1, 11):
        features = torch.randn(n_rows, 5, dtype=torch.float64, generator=seeded(2))
        torch.testing.assert_close(without_gradient(hidden, features), hidden(features))


@torch.no_grad()
def test_dropout_of_the_fast_pass_is_that_of_its_masks():
    hidden = make_hidden((4, 6, 5), "tanh", True, 0.5, seeded()).double().train()
    features, layers = torch.randn(9, 4, dtype=torch.float64, generator=seeded(1)), stages(hidden)
    assert [layer.scale for layer in layers] == [2.0, 2.0]
    torch.manual_seed(3)
    found = without_gradient(hidden, features)
    torch.manual_seed(3)
    workspace = Workspace()
    draw_masks(layers, 9, workspace, "unary", features)
    first, second = workspace.masks["unary"]
    inner = torch.tanh(layers[0].linear(features)) * first * 2
    torch.testing.assert_close(found, torch.tanh(layers[1].linear(inner)) * second * 2)


def test_layers_begin_as_glorot_and_bengio_have_them():
    hidden = make_hidden((300, 200), "tanh", True, 0.0, seeded())
    weight, limit = hidden[0].weight, math.sqrt(6 / 500)
    assert weight.shape == (200, 300)
    assert 0.95 * limit < weight.abs().max() <= limit
    assert abs(weight.mean()) < 0.02 * limit
    assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)
    assert (hidden[0].bias == 0).all()
    assert weight.requires_grad
    torch.testing.assert_close(make_hidden((300, 200), "tanh", True, 0.0, seeded())[0].weight, weight)


def test_the_global_generator_is_left_alone_where_one_is_given():
    before = torch.get_rng_state()
    make_hidden((3, 4, 5), "relu", True, 0.5, seeded())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("sizes", [(4,), (4, 3), (4, 3, 2, 5), (0, 3)])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_stages_are_the_layers(sizes, dropout):
    hidden = make_hidden(sizes, "relu", True, dropout, seeded())
    found = stages(hidden)
    assert [(s.linear.in_features, s.linear.out_features) for s in found] == list(pairwise(sizes))
    assert all((s.dropout is not None) == (dropout > 0) for s in found)
    assert all(s.dropout is None and s.scale == 1.0 for s in stages(hidden.eval()))
    assert hidden(torch.ones(2, sizes[0])).shape == (2, sizes[-1])


def test_activations_by_name_or_of_ones_own():
    for name, kind in ACTIVATIONS.items():
        assert type(make_hidden((2, 3), name, True, 0.0, None)[1]) is kind
    assert isinstance(make_hidden((2, 3), nn.Softplus, True, 0.0, None)[1], nn.Softplus)
    assert set(IN_PLACE) <= set(ACTIVATIONS.values())
    with pytest.raises(ValueError, match=r"activation .*tanh.* got 'swish'"):
        make_hidden((2, 3), "swish", True, 0.0, None)


@given(share=st.floats(0, 0.99), seed=st.integers(0, 2**16))
def test_dropout_keeps_the_mean(share, seed):
    torch.manual_seed(seed)
    dropout = Dropout(share).train()
    values = dropout(torch.ones(400, 50))
    kept = (values > 0).double().mean().item()
    assert kept == pytest.approx(1 - share, abs=0.03)
    assert values.mean().item() == pytest.approx(1, abs=6 * math.sqrt((1 / max(kept, 1e-3) - 1) / 20_000) + 1e-6)
    assert len(values.unique()) <= 2  # zero, and the scale


def test_dropout_in_evaluation_is_nothing_at_all():
    features = torch.ones(3, 4)
    assert Dropout(0.9).eval()(features) is features


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_masks_of_any_number_of_bytes(n):
    mask = Dropout(0.5).draw(torch.full((n, 3), 9, dtype=torch.uint8))
    assert mask.shape == (n, 3)
    assert set(mask.flatten().tolist()) <= {0, 1}


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, math.nan, math.inf])
def test_shares_that_cannot_be_dropped(p):
    with pytest.raises(ValueError, match=r"dropout must be .* below 1"):
        Dropout(p)


def test_a_workspace_gives_the_same_memory_again_where_it_fits():
    workspace, like = Workspace(), torch.zeros(1)
    first = workspace.take("a", 4, 5, like)
    assert (first.shape, first.dtype, first.is_contiguous()) == ((4, 5), torch.float32, True)
    assert workspace.take("a", 2, 3, like).data_ptr() == first.data_ptr()
    assert workspace.take("b", 2, 3, like).data_ptr() != first.data_ptr()
    assert workspace.take("a", 40, 5, like).shape == (40, 5)
    other = workspace.take("a", 4, 5, like, torch.uint8)
    assert other.dtype == torch.uint8
    assert workspace.take("a", 0, 5, like).shape == (0, 5)
