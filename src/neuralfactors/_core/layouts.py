"""Sequences (B, T) and pictures (B, H, W) as the nodes and edges of a batch of graphs, and their labels back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from neuralfactors._common.labels import VOID

IGNORED = -100  # what torch marks targets by that count for nothing


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the nodes of a batch lie in an array, such as (B, T) for sequences or (B, H, W) for pictures.

    Examples
    --------
    >>> Layout((2, 2), torch.tensor([0, 1, 2])).unflatten(torch.tensor([5, 6, 7])).tolist()
    [[5, 6], [7, -1]]
    """

    shape: tuple[int, ...]
    index: Tensor | None = None  # (V,) the position of every node in the flattened array; None: a node at each

    def flatten(self, values: Tensor) -> Tensor:
        """The value at every node (V,) of an array of this shape."""
        flat = values.reshape(-1)
        return flat if self.index is None else flat.index_select(0, self.index.to(values.device))

    def unflatten(self, values: Tensor) -> Tensor:
        """An array of this shape with the values (V, ...) of the nodes; where there is no node, −1, or 0 for floats."""
        rest = values.shape[1:]
        if self.index is not None:
            padded = values.new_full((torch.Size(self.shape).numel(), *rest), 0 if values.is_floating_point() else VOID)
            values = padded.index_copy(0, self.index.to(values.device), values)
        return values.reshape(*self.shape, *rest)


def as_int64(y: Tensor) -> Tensor:
    """Labels of any integer type as int64, −1 for those that torch marks as ignored."""
    y = y.to(torch.int64)
    return torch.where(y == IGNORED, VOID, y)


class Pieces(NamedTuple):
    """What Potentials are made of, in their order."""

    unary: Tensor
    interaction: Tensor
    edges: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    layout: Layout


class LaidOut:
    """Potentials of sequences and pictures: made of arrays, and their labels as such arrays again."""

    layout: Layout | None

    @property
    def n_nodes(self) -> int:
        """Number of nodes, V."""
        raise NotImplementedError

    @classmethod
    def chain(
        cls,
        emissions: Tensor,
        transitions: Tensor,
        mask: Tensor | None = None,
        start: Tensor | None = None,
        end: Tensor | None = None,
    ) -> Self:
        """Potentials of B sequences of at most T steps, as a linear-chain CRF has them.

        Parameters
        ----------
        emissions : Tensor of shape (B, T, L)
            Scores of the labels of every step.
        transitions : Tensor of shape (L, L), or (B, T − 1, L, L) for tables of their own
            Scores of a label (first axis) and the one after it.
        mask : Tensor of shape (B, T), default=None
            True for the steps of a sequence, false for the padding after them; None: no padding.
        start, end : Tensor of shape (L,), default=None
            Scores of the label of the first and of the last step.

        Returns
        -------
        Potentials
            A graph each sequence; its nodes are the steps that `mask` keeps.

        Examples
        --------
        >>> from neuralfactors import Potentials
        >>> emissions, mask = torch.zeros(2, 3, 2), torch.tensor([[True, True, True], [True, False, False]])
        >>> chain = Potentials.chain(emissions, torch.eye(2), mask, start=torch.tensor([0.0, 1.0]))
        >>> chain.edges.tolist(), chain.node_ptr.tolist()
        ([[0, 1], [1, 2]], [0, 3, 4])
        >>> chain.unflatten(torch.tensor([1, 1, 1, 0])).tolist()
        [[1, 1, 1], [0, -1, -1]]
        """
        return cls(*chains(emissions, transitions, mask, start, end))  # type: ignore[call-arg]

    @classmethod
    def grid(
        cls,
        unary: Tensor,
        horizontal: Tensor,
        vertical: Tensor | None = None,
        *,
        diagonal: Tensor | None = None,
        antidiagonal: Tensor | None = None,
    ) -> Self:
        """Potentials of a picture, or of B pictures, with 4 neighbours a pixel; with a `diagonal`, 8.

        Parameters
        ----------
        unary : Tensor of shape (B, H, W, L) or (H, W, L)
            Scores of the labels of every pixel.
        horizontal : Tensor of shape (L, L), or (B, H, W − 1, L, L) for tables of their own
            Scores of the labels of a pixel (first axis) and its right neighbour. Pictures without B have no such axis
            here either.
        vertical : Tensor of shape (L, L) or (B, H − 1, W, L, L), default=None
            The same with the neighbour below; None: as `horizontal`.
        diagonal, antidiagonal : Tensor of shape (L, L) or (B, H − 1, W − 1, L, L), default=None
            The same with the neighbour below to the right, and to the left, whose pixel is that above to the right.
            `antidiagonal=None`: as `diagonal`.

        Returns
        -------
        Potentials
            A graph each picture; its nodes are the pixels, row by row.

        Examples
        --------
        >>> from neuralfactors import Potentials
        >>> grid = Potentials.grid(torch.zeros(2, 3, 4), torch.eye(4))
        >>> grid.edges.tolist()
        [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
        >>> len(Potentials.grid(torch.zeros(5, 2, 3, 4), torch.eye(4), diagonal=0.7 * torch.eye(4)).edges)
        55
        """
        return cls(*grids(unary, horizontal, vertical, diagonal, antidiagonal))  # type: ignore[call-arg]

    def unflatten(self, values: Tensor) -> Tensor:
        """Labels, or anything else of the nodes, in the shape that `chain` or `grid` was given.

        Parameters
        ----------
        values : Tensor of shape (V,) or (V, L)
            Of all nodes, such as labels or `marginals().nodes`.

        Returns
        -------
        Tensor of shape (B, T), (B, H, W) or (H, W), or with a last axis L
            The padding is −1 for labels and 0 for floats. Potentials that were not made by `chain` or `grid` return
            `values` as they are.

        Examples
        --------
        >>> from neuralfactors import Potentials
        >>> chain = Potentials.chain(torch.zeros(1, 2, 2), torch.eye(2), torch.tensor([[True, False]]))
        >>> chain.unflatten(chain.marginals().nodes).tolist()
        [[[0.5, 0.5], [0.0, 0.0]]]
        """
        return values if self.layout is None else self.layout.unflatten(values)

    def flatten(self, y: Tensor) -> Tensor:
        """Labels of the nodes, of an array in the shape that `chain` or `grid` was given; the reverse of `unflatten`.

        Parameters
        ----------
        y : Tensor of shape (V,), (B, T), (B, H, W) or (H, W)
            Integers of any type, whatever they are in the padding.

        Returns
        -------
        Tensor of shape (V,)
            int64; −100, by which torch marks what counts for nothing, has become −1.
        """
        _check_tensor("y", y)
        shapes: list[tuple[int, ...]] = [(self.n_nodes,)]
        shapes += [] if self.layout is None else [self.layout.shape]
        if tuple(y.shape) not in shapes or y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
            expected = " or ".join(map(str, shapes))
            raise ValueError(f"y must contain integers of shape {expected}, got {y.dtype} of shape {tuple(y.shape)}")
        return as_int64(y if y.ndim == 1 or self.layout is None else self.layout.flatten(y))


def chains(
    emissions: Tensor, transitions: Tensor, mask: Tensor | None, start: Tensor | None, end: Tensor | None
) -> Pieces:
    """The pieces of `Potentials.chain`."""
    _check_tensor("emissions", emissions)
    if emissions.ndim != 3:
        raise ValueError(f"emissions must have shape (B, T, L), got {tuple(emissions.shape)}")
    n_chains, n_steps, n_labels = emissions.shape
    _check_shape("transitions", transitions, (n_labels, n_labels), (n_chains, max(n_steps - 1, 0), n_labels, n_labels))
    lengths, index = torch.full((n_chains,), n_steps), None
    node = torch.arange(n_chains * n_steps, device=emissions.device).view(n_chains, n_steps)
    unary, ends = emissions.reshape(-1, n_labels), torch.stack([node[:, :-1], node[:, 1:]], dim=-1).view(-1, 2)
    tables = transitions if transitions.ndim == 2 else transitions.reshape(-1, n_labels, n_labels)
    if mask is not None:
        mask = _check_mask(mask, (n_chains, n_steps)).to(emissions.device)
        lengths, index = mask.sum(1).cpu(), torch.nonzero(mask.reshape(-1))[:, 0]
        node, pairs = (mask.reshape(-1).cumsum(0) - 1), torch.nonzero(mask[:, 1:].reshape(-1))[:, 0]
        unary, ends = unary.index_select(0, index), node[ends.index_select(0, pairs)]
        tables = tables if transitions.ndim == 2 else tables.index_select(0, pairs)
    node_ptr, edge_ptr = pointers_of(lengths), pointers_of((lengths - 1).clamp_min(0))
    occupied = lengths > 0 if mask is not None or not n_steps else slice(None)
    for name, bonus, places in (("start", start, node_ptr[:-1]), ("end", end, node_ptr[1:] - 1)):
        if bonus is not None:
            _check_shape(name, bonus, (n_labels,))
            rows = places[occupied].to(unary.device)
            unary = unary.index_add(0, rows, bonus.to(unary.dtype).expand(len(rows), n_labels))
    return Pieces(unary, tables, ends, node_ptr, edge_ptr, Layout((n_chains, n_steps), index))


def grids(
    unary: Tensor, horizontal: Tensor, vertical: Tensor | None, diagonal: Tensor | None, antidiagonal: Tensor | None
) -> Pieces:
    """The pieces of `Potentials.grid`."""
    _check_tensor("unary", unary)
    if unary.ndim not in (3, 4):
        raise ValueError(f"unary must have shape (H, W, L) or (B, H, W, L), got {tuple(unary.shape)}")
    if diagonal is None and antidiagonal is not None:
        raise ValueError("antidiagonal needs a diagonal: pass it alone as diagonal to use it for both")
    *shape, n_labels = unary.shape
    height, width = shape[-2:]
    n_grids = shape[0] if len(shape) == 3 else 1
    tables = {"horizontal": horizontal, "vertical": horizontal if vertical is None else vertical}
    if diagonal is not None:
        tables |= {"diagonal": diagonal, "antidiagonal": diagonal if antidiagonal is None else antidiagonal}
    node = torch.arange(n_grids * height * width, device=unary.device).view(n_grids, height, width)
    ends = [torch.stack(_neighbours(node, name), dim=-1) for name in tables]  # (B, h, w, 2) of each direction
    for (name, table), pairs in zip(tables.items(), ends, strict=True):
        _check_shape(name, table, (n_labels, n_labels), (*shape[:-2], *pairs.shape[1:3], n_labels, n_labels))
    edges = torch.cat([pairs.flatten(1, 2) for pairs in ends], dim=1)
    same = horizontal.ndim == 2 and all(table is horizontal for table in tables.values())
    interaction = horizontal if same else _joined(list(tables.values()), ends)
    sizes = torch.ones(n_grids, dtype=torch.int64)
    node_ptr, edge_ptr = pointers_of(sizes * height * width), pointers_of(sizes * edges.shape[1])
    return Pieces(
        unary.reshape(-1, n_labels), interaction, edges.reshape(-1, 2), node_ptr, edge_ptr, Layout(tuple(shape))
    )


def _neighbours(node: Tensor, direction: str) -> tuple[Tensor, Tensor]:
    if direction == "horizontal":
        return node[:, :, :-1], node[:, :, 1:]
    if direction == "vertical":
        return node[:, :-1], node[:, 1:]
    if direction == "diagonal":
        return node[:, :-1, :-1], node[:, 1:, 1:]
    return node[:, :-1, 1:], node[:, 1:, :-1]


def _joined(tables: list[Tensor], ends: list[Tensor]) -> Tensor:
    """Tables of all edges (B·E, L, L), those of a grid one direction after the other."""
    rows = [
        table.expand(*pairs.shape[:3], *table.shape[-2:]).flatten(1, 2)
        for table, pairs in zip(tables, ends, strict=True)
    ]
    return torch.cat(rows, dim=1).flatten(0, 1)


def pointers_of(sizes: Tensor) -> Tensor:
    """Pointers (G + 1,) to the rows of G graphs of these sizes."""
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def _check_shape(name: str, value: Any, *expected: tuple[int, ...]) -> None:
    if not isinstance(value, Tensor) or tuple(value.shape) not in expected:
        got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name} must be a tensor of shape {' or '.join(map(str, expected))}, got {got}")


def _check_mask(mask: Tensor, shape: tuple[int, int]) -> Tensor:
    _check_shape("mask", mask, shape)
    mask = mask.bool()
    if not torch.compiler.is_compiling() and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise ValueError(
            "mask must be true for the first steps of every sequence, and false for the padding after them"
        )
    return mask


def _check_tensor(name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a tensor, got {type(value).__name__}")
