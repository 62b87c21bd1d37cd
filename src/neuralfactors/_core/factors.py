"""Factors: template networks that turn the features of nodes and edges into potentials, linear or neural.

One network scores all nodes, another all edges. A `Network` describes such a factor, a `Factor` is the torch module,
and a `FactorModel` applies both to a batch. Besides `forward`, for autograd, factors have a quick way there and back,
`evaluate` and `backward_contrast`: a structured loss depends on few of the outputs, so that gradients of all the others
need not be formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuralfactors._common.extras import needs
from neuralfactors._core.layers import Workspace, activate, draw_masks, join_ones, joined, make_hidden, stages
from neuralfactors._core.table_symmetry import mirror_signs, project
from neuralfactors._core.weight_signs import check_signs

with needs("learning", "learn"):
    import torch
    from sklearn.base import BaseEstimator
    from torch import Tensor, nn
    from torch.nn import functional

FORWARD_ROWS = 512  # at a time without gradient, so that what lies between the layers stays in the processor's cache


@dataclass(eq=False, repr=False)
class Network(BaseEstimator):
    """What a factor of an estimator is to be; the data give it the numbers of features and labels.

    `StructuralSVM(unary=(256,))` is short for `StructuralSVM(unary=Network((256,)))`, and `unary__dropout` is the name
    of one of these parameters in `set_params` and `GridSearchCV`.

    Parameters
    ----------
    hidden : sequence of int, default=()
        Units of the hidden layers; `()` makes the factor linear.
    activation : str or callable, default="tanh"
        One of "tanh", "relu", "elu", "gelu", "silu", "leaky_relu", "sigmoid"; or a function that makes a module.
    symmetric : bool or sequence of int, default=False
        Whether the value must not depend on the order of the nodes; then only ½L(L+1) outputs of an edge are learned.
        A sequence, for linear factors, says it of every feature: 1 for a symmetric table, −1 for an antisymmetric one,
        0 for any. The bias is symmetric unless a feature is free, and the regulariser counts the whole tables.
    dropout : float, default=0.0
        Share of the hidden units dropped in training.
    bias : bool, default=True
        Whether layers have one; it is regularised like all else. A factor without features keeps that of its output in
        any case: it is one table for all.
    sign : array of shape (L, L) or (T, L, L), dict or None, default=None
        Signs that the weights of a linear factor must have: 1 for weights ≥ 0, −1 for weights ≤ 0, 0 for any. (L, L)
        holds for the tables of all features and the bias; (T, L, L) has one for each of them, the bias last. With
        ``2 * np.eye(L) - 1`` and no negative features, equal labels attract, and binary labels are submodular. For
        edges of graphs with `node_types`, a dict from some of the pairs of types to such arrays.

    Examples
    --------
    >>> Network((64,), dropout=0.5)
    Network(dropout=0.5, hidden=(64,))
    >>> Network((64,)).build(n_features=4, n_labels=3, order=2)(torch.ones(5, 4)).shape
    torch.Size([5, 9])
    """

    hidden: Sequence[int] = ()
    activation: str | Callable[[], nn.Module] = "tanh"
    symmetric: bool | Sequence[int] = False
    dropout: float = 0.0
    bias: bool = True
    sign: ArrayLike | Mapping[tuple[int, int], ArrayLike] | None = None

    def build(self, n_features: int, n_labels: int, order: int = 1, generator: torch.Generator | None = None) -> Factor:
        """The factor, with fresh parameters.

        Parameters
        ----------
        n_features : int
            Number of features of a node or edge, D.
        n_labels : int
            Number of labels, L.
        order : int, default=1
            Number of nodes that meet in the factor.
        generator : torch.Generator, default=None
            Source of the initial weights; None: torch's own.

        Returns
        -------
        Factor
            A module from (N, D) to (N, L^order).
        """
        return Factor(n_features, n_labels, order, **self.get_params(), generator=generator)


def as_network(given: Any) -> Network | nn.Module:
    """`given` itself where it is a network or a module; else it is the hidden units of one."""
    return given if isinstance(given, (Network, nn.Module)) else Network(given)


class Factor(nn.Module):
    """Values of a factor for every joint labelling of its nodes: features (N, D) in, (N, L^order) out.

    Hidden layers are initialised as by Glorot and Bengio, the output layer with zeros, as in the paper; so all
    potentials are 0 before the first step.

    Parameters
    ----------
    n_features : int
        D. It may be 0: the factor is then its bias, one table for all.
    n_labels : int
        L.
    order : int, default=1
        Number of nodes that meet in the factor: 1 for a unary factor, 2 for one on edges.
    hidden : sequence of int, default=()
        Units of the hidden layers, as in `Network`.
    activation : str or callable, default="tanh"
        As in `Network`.
    symmetric : bool or sequence of int, default=False
        As in `Network`.
    dropout : float, default=0.0
        As in `Network`.
    bias : bool, default=True
        As in `Network`.
    sign : array of shape (L, L) or (T, L, L), default=None
        As in `Network`; training keeps them by `impose_signs`.
    generator : torch.Generator, default=None
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
        hidden: Sequence[int] = Network.hidden,
        activation: str | Callable[[], nn.Module] = Network.activation,
        *,
        symmetric: bool | Sequence[int] = Network.symmetric,
        dropout: float = Network.dropout,
        bias: bool = Network.bias,
        sign: ArrayLike | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(hidden, Iterable):
            raise ValueError(f"hidden must be a sequence with the units of each layer, got {hidden!r}: try ({hidden},)")
        wrong = any(not isinstance(units, (int, np.integer)) or units < 1 for units in hidden)
        if n_labels < 1 or order < 1 or n_features < 0 or wrong:
            raise ValueError(
                "n_labels, order and hidden units must be integers ≥ 1 and n_features at least 0, "
                f"got n_labels={n_labels}, order={order}, hidden={tuple(hidden)}, n_features={n_features}"
            )
        self.n_features = n_features
        sizes = [n_features, *hidden]
        self.hidden = make_hidden(sizes, activation, bias, dropout, generator)
        self.entries: Tensor | None
        self.signs: Tensor | None
        by_feature = symmetric if isinstance(symmetric, Iterable) else None
        entries = _symmetric_entries(n_labels, order) if by_feature is None and symmetric else None
        self.register_buffer("entries", entries, persistent=False)
        signs = None if by_feature is None else mirror_signs(by_feature, n_features, order, hidden)
        self.register_buffer("signs", signs, persistent=False)
        n_outputs = n_labels**order if self.entries is None else int(self.entries.max()) + 1
        self.weight = nn.Parameter(torch.zeros(n_outputs, sizes[-1]))
        self.bias = nn.Parameter(torch.zeros(n_outputs)) if bias or n_features == 0 else None
        self.weight_signs: Tensor | None
        self.register_buffer("weight_signs", None if sign is None else self._check_sign(sign, n_labels, order), False)

    def _check_sign(self, sign: ArrayLike, n_labels: int, order: int) -> Tensor:
        """The sign of every output (n_outputs, T) by feature, the bias last."""
        if len(self.hidden):
            raise ValueError("sign needs a linear factor: hidden must be ()")
        mirror = np.full(self.weight.shape[1] + (self.bias is not None), int(self.entries is not None), np.int8)
        if self.signs is not None:
            mirror = self.signs.numpy()[: len(mirror)]
        tables = torch.from_numpy(check_signs("sign", sign, (n_labels,) * order, mirror).reshape(len(mirror), -1)).T
        if self.entries is None:
            return tables.contiguous()
        return tables.new_zeros(len(self.weight), len(mirror)).index_copy(0, self.entries, tables)

    @torch.no_grad()
    def impose_signs(self) -> None:
        """Set weights to zero that do not have the sign that they must have: the nearest ones that do."""
        if self.weight_signs is None:
            return
        width = self.weight.shape[1]
        self.weight.masked_fill_(self.weight_signs[:, :width] * self.weight < 0, 0.0)
        if self.bias is not None:
            self.bias.masked_fill_(self.weight_signs[:, width] * self.bias < 0, 0.0)

    def forward(self, features: Tensor) -> Tensor:
        """Values of the factor, differentiable.

        Parameters
        ----------
        features : Tensor of shape (N, D)
            A row per node or edge.

        Returns
        -------
        Tensor of shape (N, L^order)
            The label of the last node runs fastest.
        """
        values = functional.linear(self.hidden(features), *self._output())
        return values if self.entries is None else values[:, self.entries]

    def evaluate(self, features: Tensor, workspace: Workspace, name: str) -> Tensor:
        """The values of `forward`, without gradient, in memory that is used again.

        Parameters
        ----------
        features : Tensor of shape (N, D)
            A row per node or edge.
        workspace : Workspace
            Where the memory comes from, and where dropout's masks are kept for `backward_contrast`.
        name : str
            The next call with the same name reuses the memory of this one.

        Returns
        -------
        Tensor of shape (N, L^order)
            Valid until the next call.
        """
        out = workspace.take(f"{name}.output", len(features), len(self.weight), features)
        layers, scale, weights = stages(self.hidden), 1.0, []
        for layer in layers:
            weights.append(layer.weight(scale))
            scale = layer.scale
        last = joined(*self._output(), scale).t().contiguous()
        drawn = draw_masks(layers, len(features), workspace, name, features)
        masks = [torch.split(mask, FORWARD_ROWS) for mask in drawn]
        blocks = torch.split(join_ones(features), FORWARD_ROWS)
        for n, (values, block) in enumerate(zip(blocks, torch.split(out, FORWARD_ROWS), strict=True)):
            for k, (layer, weight) in enumerate(zip(layers, weights, strict=True)):
                memory = workspace.take(f"{name}.{k}", len(values), weight.shape[1] + 1, features)
                values = activate(values, weight, layer, masks[k][n] if masks else None, memory)
            torch.mm(values, last, out=block)
        return out if self.entries is None else out[:, self.entries]

    def backward_contrast(self, features: Tensor, plus: Tensor, minus: Tensor, masks: Sequence[Tensor] = ()) -> None:
        """Add ∇ Σₙ forward(features)[n, plus[n]] − forward(features)[n, minus[n]] to the parameters' gradients.

        Only the selected outputs take part, by a gather and two `index_add`, so that the output layer costs the same
        however many labels there are.

        Parameters
        ----------
        features : Tensor of shape (N, D)
            A row per node or edge.
        plus, minus : Tensor of shape (N,)
            int64, the outputs to raise and to lower.
        masks : sequence of Tensor of shape (N, H), default=()
            Of every layer, what dropout had left in `evaluate`.
        """
        if self.entries is not None:
            plus, minus = self.entries[plus], self.entries[minus]
        below = self._hidden_again(features, masks)
        with torch.no_grad():
            if self.weight.requires_grad:
                _gradient(self.weight).index_add_(0, plus, below).index_add_(0, minus, below, alpha=-1)
            if self.bias is not None and self.bias.requires_grad:
                once = torch.ones_like(plus, dtype=self.bias.dtype)
                _gradient(self.bias).index_add_(0, plus, once).index_add_(0, minus, once, alpha=-1)
            self._project_gradients()
        if below.requires_grad:
            direction = self._direction(plus, minus)
            # As an argument of `backward` it would import torch's compiler, only to have its shape compared.
            below.register_hook(lambda _: direction)  # type: ignore[no-untyped-call]
            torch.autograd.backward(below.sum())

    def _output(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias of the output layer, with the symmetry that they must have."""
        if self.signs is None:
            return self.weight, self.bias
        bias = None if self.bias is None else project(self.bias[:, None], self.signs[-1:])[:, 0]
        return project(self.weight, self.signs[:-1]), bias

    def _project_gradients(self) -> None:
        if self.signs is None:
            return
        for parameter, signs in ((self.weight, self.signs[:-1]), (self.bias, self.signs[-1:])):
            if parameter is not None and parameter.grad is not None:
                columns = parameter.grad.view(len(parameter), -1)
                columns.copy_(project(columns, signs))

    @torch.no_grad()
    def _direction(self, plus: Tensor, minus: Tensor) -> Tensor:
        """Row plus[n] of the weights less row minus[n], (N, H), in one pass over the memory."""
        signs = self.weight.new_tensor([1.0, -1.0]).repeat(len(plus), 1)
        pairs = torch.stack([plus, minus], dim=1)
        return functional.embedding_bag(pairs, self._output()[0], mode="sum", per_sample_weights=signs)

    def _hidden_again(self, values: Tensor, masks: Sequence[Tensor]) -> Tensor:
        for k, layer in enumerate(stages(self.hidden)):
            values = layer.differentiable(values, masks[k] if masks else None)
        return values


def _gradient(parameter: Tensor) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _symmetric_entries(n_labels: int, order: int) -> Tensor:
    """The output of every joint labelling, one per multiset of labels: (a, b) and (b, a) have the same."""
    number: dict[tuple[int, ...], int] = {}
    entries = [number.setdefault(tuple(sorted(y)), len(number)) for y in product(range(n_labels), repeat=order)]
    return torch.tensor(entries, dtype=torch.int64)
