"""Factors: template networks that turn the features of nodes and edges into potentials, linear or neural."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise, product

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuralfactors.graph import GraphBatch
from neuralfactors.potentials import Potentials

# Rows at a time without gradient, so that what lies between the layers stays in the processor's cache. An output layer
# that is wider than what lies below it is worth more rows: every product begins with putting its weights in order.
FORWARD_ROWS = 512
FORWARD_ROWS_WIDE = 2048
# Activations that the pass without gradient may apply in place.
IN_PLACE: dict[type[nn.Module], Callable[[Tensor], Tensor]] = {
    nn.Tanh: torch.tanh_,
    nn.ReLU: torch.relu_,
    nn.Sigmoid: torch.sigmoid_,
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

    def take(self, name: str, rows: int, columns: int, like: Tensor) -> Tensor:
        """An uninitialised (rows, columns) tensor, which is overwritten when `name` is taken next."""
        buffer = self.buffers.get(name)
        if buffer is None or buffer.numel() < rows * columns or buffer.dtype != like.dtype:
            self.buffers[name] = buffer = torch.empty(rows * columns, dtype=like.dtype, device=like.device)
        return buffer[: rows * columns].view(rows, columns)


class Factor(nn.Module):
    """Values of a factor for every joint labelling of its nodes: features (N, D) in, (N, L^order) out.

    Hidden layers start as Glorot and Bengio have it, the output layer at zero, as in the paper; so all potentials are 0
    before the first step.

    Parameters
    ----------
    n_features : int
        D. It may be 0: the factor is then its bias, one table for all.
    n_labels : int
        L.
    order : int
        Number of nodes that meet in the factor: 1 for a unary factor, 2 for one on edges.
    hidden : sequence of int
        Units of the hidden layers; `()` makes the factor linear.
    activation : str or callable
        One of "tanh", "relu", "elu", "gelu", "silu", "leaky_relu", "sigmoid"; or a function that makes a module.
    symmetric : bool
        Whether the value must not depend on the order of the nodes; then only ½L(L+1) outputs of an edge are learned.
    bias : bool
    dropout : float
        Share of the hidden units dropped in training.
    generator : torch.Generator
        Source of the initial weights; None: torch's own.

    Examples
    --------
    >>> Factor(4, 3, order=2, hidden=(8,))(torch.ones(5, 4)).shape
    torch.Size([5, 9])
    """

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        order: int = 1,
        hidden: Sequence[int] = (),
        activation: str | Callable[[], nn.Module] = "tanh",
        *,
        symmetric: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if n_labels < 1 or order < 1 or n_features < 0 or any(units < 1 for units in hidden):
            raise ValueError(
                "n_labels, order and hidden units must be at least 1 and n_features at least 0, "
                f"got n_labels={n_labels}, order={order}, hidden={tuple(hidden)}, n_features={n_features}"
            )
        make = _activation(activation)
        layers: list[nn.Module] = []
        sizes = [n_features, *hidden]
        for below, above in pairwise(sizes):
            layers += [_linear(below, above, bias, generator), make()]
            layers += [nn.Dropout(dropout)] if dropout else []
        self.hidden = nn.Sequential(*layers)
        self.entries: Tensor | None
        self.register_buffer("entries", _symmetric_entries(n_labels, order) if symmetric else None, persistent=False)
        n_outputs = n_labels**order if self.entries is None else int(self.entries.max()) + 1
        self.weight = nn.Parameter(torch.zeros(n_outputs, sizes[-1]))
        self.bias = nn.Parameter(torch.zeros(n_outputs)) if bias else None

    def forward(self, features: Tensor) -> Tensor:
        """Values (N, L^order), the label of the last node running fastest."""
        values = functional.linear(self.hidden(features), self.weight, self.bias)
        return values if self.entries is None else values[:, self.entries]

    def evaluate(self, features: Tensor, workspace: Workspace, name: str) -> Tensor:
        """The values of `forward`, without gradient, in memory of `workspace` that the next call with `name` reuses."""
        out = workspace.take(f"{name}.output", len(features), len(self.weight), features)
        narrow = len(self.weight) < self.weight.shape[1]
        n_rows = FORWARD_ROWS if narrow else FORWARD_ROWS_WIDE
        hidden = [(_joined(layer.weight, layer.bias).t(), above) for layer, above in self._hidden_layers()]
        last = _joined(self.weight, self.bias).t()
        last = last.contiguous() if narrow else last
        for values, block in zip(torch.split(_join_ones(features), n_rows), torch.split(out, n_rows), strict=True):
            for k, (weight, modules) in enumerate(hidden):
                values = _activate(values, weight, modules, workspace, f"{name}.{k}")
            torch.mm(values, last, out=block)
        return out if self.entries is None else out[:, self.entries]

    def _hidden_layers(self) -> list[tuple[nn.Linear, list[nn.Module]]]:
        """Every linear layer below the last with what follows it: activation, dropout."""
        layers: list[tuple[nn.Linear, list[nn.Module]]] = []
        for module in self.hidden:
            if isinstance(module, nn.Linear):
                layers.append((module, []))
            else:
                layers[-1][1].append(module)
        return layers

    def backward_contrast(self, features: Tensor, plus: Tensor, minus: Tensor) -> None:
        """Add ∇ Σₙ forward(features)[n, plus[n]] − forward(features)[n, minus[n]] to the parameters' gradients.

        Only the selected outputs take part, by a gather and two `index_add`, so that the output layer costs the same
        however many labels there are.
        """
        if self.entries is not None:
            plus, minus = self.entries[plus], self.entries[minus]
        below = self.hidden(features)
        with torch.no_grad():
            if self.weight.requires_grad:
                _gradient(self.weight).index_add_(0, plus, below).index_add_(0, minus, below, alpha=-1)
            if self.bias is not None and self.bias.requires_grad:
                once = torch.ones_like(plus, dtype=self.bias.dtype)
                _gradient(self.bias).index_add_(0, plus, once).index_add_(0, minus, once, alpha=-1)
            direction = self.weight.index_select(0, plus).sub_(self.weight.index_select(0, minus))  # (N, H)
        if below.requires_grad:
            torch.autograd.backward(below, direction)


class FactorModel(nn.Module):
    """A unary and an interaction factor applied to a batch: GraphBatch in, Potentials out.

    Parameters
    ----------
    unary : nn.Module
        Node features (V, D) in, (V, L) out; a `Factor` of order 1, or any module of that shape.
    interaction : nn.Module
        Edge features (E, K) in, (E, L^Q) out; a `Factor` of order Q, or any module of that shape. None: zeros.
    n_labels : int

    Examples
    --------
    >>> from neuralfactors.graph import Graph
    >>> model = FactorModel(Factor(1, 3), Factor(2, 3, order=2), n_labels=3)
    >>> batch = GraphBatch.from_graphs([Graph([[0.0], [1.0]], [[0, 1]], [[0.5, 0.5]])])
    >>> model(batch).interaction.shape
    torch.Size([1, 3, 3])
    """

    def __init__(self, unary: nn.Module, interaction: nn.Module | None, n_labels: int) -> None:
        super().__init__()
        self.unary = unary
        self.interaction = interaction
        self.n_labels = n_labels

    def forward(self, batch: GraphBatch, workspace: Workspace | None = None) -> Potentials:
        """Potentials of `batch`, differentiable; with a `workspace` they are not, and hold until it is used again."""
        unary = self._values("unary", batch.node_features, workspace)
        self._check(unary, (batch.n_nodes, self.n_labels), "unary")
        order = batch.edges.shape[1]
        if self.interaction is None or not batch.n_edges:
            interaction = unary.new_zeros((batch.n_edges,) + (self.n_labels,) * order)
        else:
            interaction = self._values("interaction", batch.edge_features, workspace)
            self._check(interaction, (batch.n_edges, self.n_labels**order), "interaction")
            interaction = interaction.view((batch.n_edges,) + (self.n_labels,) * order)
        return Potentials(unary, interaction, batch.edges, batch.node_ptr, batch.edge_ptr)

    def _values(self, part: str, features: Tensor, workspace: Workspace | None) -> Tensor:
        factor = getattr(self, part)
        if workspace is not None and isinstance(factor, Factor):
            return factor.evaluate(features, workspace, part)
        values: Tensor = factor(features)
        return values

    def backward_contrast(self, part: str, features: Tensor, plus: Tensor, minus: Tensor) -> None:
        """Add ∇ Σ (output `plus` − output `minus`) over the rows of `features`; `part` is "unary" or "interaction"."""
        factor = getattr(self, part)
        if hasattr(factor, "backward_contrast"):
            factor.backward_contrast(features, plus, minus)
            return
        values: Tensor = factor(features)
        if values.requires_grad:  # a module given in place of a factor may have nothing to learn
            torch.autograd.backward((values.gather(1, plus[:, None]) - values.gather(1, minus[:, None])).sum())

    @property
    def rowwise(self) -> bool:
        """Whether rows do not meet and chance plays no part, so that some rows may be computed without the others."""
        mixing = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
        return not any(isinstance(module, mixing) for module in self.modules())

    @staticmethod
    def _check(values: Tensor, expected: tuple[int, int], name: str) -> None:
        if values.shape != expected:
            raise ValueError(f"the {name} factor must give values of shape {expected}, got {tuple(values.shape)}")


def _activate(features: Tensor, weight: Tensor, modules: list[nn.Module], workspace: Workspace, name: str) -> Tensor:
    """The values of a hidden layer for `features`, both with a last column of ones, in memory of `workspace`."""
    width = weight.shape[1]
    joined = workspace.take(name, len(features), width + 1, features)
    joined[:, width] = 0.0
    values = torch.mm(features, weight, out=joined[:, :width])
    if all(type(module) in IN_PLACE for module in modules):
        for module in modules:
            IN_PLACE[type(module)](joined)  # the last column too: memory without gaps is faster
        joined[:, width] = 1.0
        return joined
    for module in modules:
        values = module(values)
    return _join_ones(values)


def _join_ones(features: Tensor) -> Tensor:
    return functional.pad(features, (0, 1), value=1.0)


def _joined(weight: Tensor, bias: Tensor | None) -> Tensor:
    # The bias as the weights of one more input, which is always 1: adding it to the product takes up to a sixth of the
    # time of the product, and half of it where there are few inputs.
    return torch.cat([weight, weight.new_zeros(len(weight), 1) if bias is None else bias[:, None]], dim=1)


def _gradient(parameter: Tensor) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _activation(activation: str | Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    if callable(activation):
        return activation
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {sorted(ACTIVATIONS)} or a callable, got {activation!r}")
    return ACTIVATIONS[activation]


def _linear(below: int, above: int, bias: bool, generator: torch.Generator | None) -> nn.Linear:
    with warnings.catch_warnings():  # torch warns of layers without inputs, which are fine here: they are their bias
        warnings.filterwarnings("ignore", message="Initializing zero-element tensors")
        layer: nn.Linear = nn.utils.skip_init(nn.Linear, below, above, bias=bias)  # type: ignore[no-untyped-call]
    limit = math.sqrt(6.0 / max(1, below + above))
    with torch.no_grad():
        layer.weight.uniform_(-limit, limit, generator=generator)
        if bias:
            layer.bias.zero_()
    return layer


def _symmetric_entries(n_labels: int, order: int) -> Tensor:
    # One output per multiset of labels: (a, b) and (b, a) point to the same one.
    number: dict[tuple[int, ...], int] = {}
    entries = [number.setdefault(tuple(sorted(y)), len(number)) for y in product(range(n_labels), repeat=order)]
    return torch.tensor(entries, dtype=torch.int64)
