"""Hidden layers of factors: initialised as in the paper, with dropout, and fast where no gradient is needed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

MINUS_ONE = torch.tensor(-1.0)  # of any type: one number does not decide that of a sum


def tanh_of_half_(values: Tensor) -> Tensor:
    """tanh(x / 2) = 2σ(x) − 1 in place: on a CPU torch's sigmoid takes a tenth of the time of its tanh."""
    return torch.add(MINUS_ONE, values.sigmoid_(), alpha=2, out=values)


class FastTanh(torch.autograd.Function):
    """tanh by `tanh_of_half_`, differentiable."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        """The activations."""
        activations = tanh_of_half_(values * 2)
        ctx.save_for_backward(activations)
        return activations

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """The gradient times 1 − tanh²."""
        (activations,) = ctx.saved_tensors
        return torch.addcmul(gradient, gradient * activations, activations, value=-1)


class InPlace(NamedTuple):
    """How the pass without gradient applies an activation: in place, to values that are `gain` times its inputs."""

    apply: Callable[[Tensor], Tensor]
    gain: float = 1.0


IN_PLACE: dict[type[nn.Module], InPlace] = {
    nn.Tanh: InPlace(tanh_of_half_, 2.0),
    nn.ReLU: InPlace(torch.relu_),
    nn.Sigmoid: InPlace(torch.sigmoid_),
}
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "leaky_relu": nn.LeakyReLU,
    "sigmoid": nn.Sigmoid,
}


class Workspace:
    """Memory for large results, kept from call to call: fresh pages cost more than the products written into them."""

    def __init__(self) -> None:
        self.buffers: dict[str, Tensor] = {}
        self.masks: dict[str, list[Tensor]] = {}  # what dropout has left, (N, H) of every layer, by name of the factor

    def take(self, name: str, rows: int, columns: int, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """An uninitialised (rows, columns) tensor, which is overwritten when `name` is taken next."""
        dtype, buffer = dtype or like.dtype, self.buffers.get(name)
        if buffer is None or buffer.numel() < rows * columns or buffer.dtype != dtype:
            self.buffers[name] = buffer = torch.empty(rows * columns, dtype=dtype, device=like.device)
        return buffer[: rows * columns].view(rows, columns)


class Dropout(nn.Dropout):
    """Dropout by a byte of chance a unit, so that its share counts in 256ths: eight times faster than torch's."""

    def __init__(self, p: float) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {p}")
        super().__init__(p)
        self.dropped = min(max(round(256 * p), 1), 255) if p else 0

    @property
    def scale(self) -> float:
        """What the units that stay are multiplied by, so that the sum is expected to stay the same."""
        return 256 / (256 - self.dropped)

    def draw(self, out: Tensor) -> Tensor:
        """`out`, bytes in memory without gaps, filled with 0 for what is dropped and 1 for what stays."""
        words = torch.empty(-(-out.numel() // 8), dtype=torch.int64, device=out.device).random_(-(2**63), None)
        chance = words.view(torch.uint8)[: out.numel()].view(out.shape)
        return torch.ge(chance, self.dropped, out=out)

    def forward(self, features: Tensor) -> Tensor:
        """The features, in training with a part of them set to zero."""
        if not self.training:
            return features
        mask = self.draw(torch.empty(features.shape, dtype=torch.uint8, device=features.device))
        return features * (mask * self.scale).to(features.dtype)


class Stage(NamedTuple):
    """A hidden layer: its linear map, its activation, and dropout where it is in force."""

    linear: nn.Linear
    activation: nn.Module
    dropout: Dropout | None

    @property
    def scale(self) -> float:
        """What dropout multiplies by."""
        return 1.0 if self.dropout is None else self.dropout.scale

    @property
    def in_place(self) -> InPlace | None:
        """How to apply the activation in place; None: it must make new values."""
        return IN_PLACE.get(type(self.activation))

    def weight(self, scale: float) -> Tensor:
        """Weights (D + 1, H) that `activate` takes, for inputs that are to be multiplied by `scale`."""
        gain = 1.0 if self.in_place is None else self.in_place.gain
        return (gain * joined(self.linear.weight, self.linear.bias, scale)).t()

    def differentiable(self, values: Tensor, mask: Tensor | None) -> Tensor:
        """The values of the layer, for autograd; with a `mask`, dropout leaves what it says."""
        sums = self.linear(values)
        values = FastTanh.apply(sums) if type(self.activation) is nn.Tanh else self.activation(sums)  # type: ignore
        if mask is not None:
            return values * (mask * self.scale).to(values.dtype)
        return values if self.dropout is None else self.dropout(values)


def make_hidden(
    sizes: Sequence[int],
    activation: str | Callable[[], nn.Module],
    bias: bool,
    dropout: float,
    generator: torch.Generator | None,
) -> nn.Sequential:
    """Hidden layers from sizes[0] features to sizes[-1] units, as Glorot and Bengio have them."""
    make = _activation(activation)
    layers: list[nn.Module] = []
    for below, above in pairwise(sizes):
        layers += [_linear(below, above, bias, generator), make()]
        layers += [Dropout(dropout)] if dropout else []
    return nn.Sequential(*layers)


def stages(hidden: nn.Sequential) -> list[Stage]:
    """The layers of `make_hidden`."""
    found: list[Stage] = []
    for module, above in pairwise(hidden):
        if isinstance(module, nn.Linear):
            found.append(Stage(module, above, None))
        elif isinstance(above, Dropout) and above.training:
            found[-1] = found[-1]._replace(dropout=above)
    return found


def draw_masks(layers: Sequence[Stage], n_rows: int, workspace: Workspace, name: str, like: Tensor) -> list[Tensor]:
    """Bytes (N, H + 1) of every layer that say what dropout leaves, the last column all of it; [] without dropout."""
    masks = []
    for k, layer in enumerate(layers):
        if layer.dropout is not None:
            width = layer.linear.out_features + 1
            mask = workspace.take(f"{name}.{k}.mask", n_rows, width, like, torch.uint8)
            masks.append(layer.dropout.draw(mask))
            mask[:, -1] = 1
    workspace.masks[name] = [mask[:, :-1] for mask in masks]
    return masks


def activate(features: Tensor, weight: Tensor, layer: Stage, mask: Tensor | None, out: Tensor) -> Tensor:
    """The values of a hidden layer for `features`, all with a last column of ones, in the memory `out` if possible.

    Dropout leaves the scale to the next layer's weights.
    """
    width = weight.shape[1]
    values = torch.mm(features, weight, out=out[:, :width])
    if layer.in_place is None:
        out = join_ones(layer.activation(values))
    else:
        layer.in_place.apply(out)  # the last column too, whatever it is: memory without gaps is faster
        out[:, width] = 1.0
    return out if mask is None else out.mul_(mask)


def join_ones(features: Tensor) -> Tensor:
    """The features with a last column of ones, whose weights are the bias of the layer above."""
    return functional.pad(features, (0, 1), value=1.0)


def joined(weight: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """The weights times `scale`, with the bias as those of one more input.

    Adding a bias to the product takes up to a sixth of the time of the product, and half of it with few inputs.
    """
    last = weight.new_zeros(len(weight), 1) if bias is None else bias[:, None]
    return torch.cat([weight if scale == 1.0 else weight * scale, last], dim=1)


def _activation(activation: str | Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    if callable(activation):
        return activation
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {sorted(ACTIVATIONS)} or a callable, got {activation!r}")
    return ACTIVATIONS[activation]


def _linear(below: int, above: int, bias: bool, generator: torch.Generator | None) -> nn.Linear:
    """A linear layer with uniform weights by the rule of Glorot, and biases of zero."""
    with warnings.catch_warnings():  # an empty layer draws nothing; torch's skip_init takes a second to import sympy
        warnings.filterwarnings("ignore", message="Initializing zero-element tensors")
        layer = nn.Linear(0, 0, bias=bias)
    layer.in_features, layer.out_features = below, above
    limit = math.sqrt(6.0 / max(1, below + above))
    layer.weight = nn.Parameter(torch.empty(above, below).uniform_(-limit, limit, generator=generator))
    if bias:
        layer.bias = nn.Parameter(torch.zeros(above))
    return layer
