"""Labelled graphs as training reads them: checked once, batched in chunks of bounded size, class weights counted."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralfactors._common.label_values import Classes, encode_labels
from neuralfactors._common.labels import VOID
from neuralfactors._common.sequences import Selection
from neuralfactors._core.graph import Graph, check_agreement
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.graph_checks import check_labels
from neuralfactors._core.node_types import NodeTypes, TypeCensus
from neuralfactors._core.sparse import is_sparse, stored_arrays

ClassWeight = str | Mapping[Any, float] | ArrayLike | None

# Entries of the interaction tables of one chunk: 24 MiB in float32, which the C allocator still reuses without asking
# the kernel for fresh pages, and which keeps memory independent of the number of graphs.
CHUNK_ENTRIES = 6 * 2**20
USUAL_VOID = 255  # what label maps of 8 bits tend to hold where there is no class; here it is a label like any other


@dataclass(frozen=True)
class Samples:
    """Graphs X and labels Y; a graph is read when its turn comes, so that X may be a sequence that loads lazily."""

    X: Sequence[Graph]
    Y: Sequence[NDArray[np.int64]]
    n_labels: int
    n_node_features: int
    n_edge_features: int
    order: int
    drop_void: bool = True
    classes: Classes | None = None  # (L,) what labels stand for; None: themselves
    weight: NDArray[np.float64] | None = None  # (N,) by which the loss of every graph is multiplied; None: 1
    types: NodeTypes | None = None

    @classmethod
    def check(
        cls,
        X: Sequence[Graph],
        Y: Sequence[ArrayLike],
        n_labels: int | Sequence[int] | None = None,
        *,
        known: int = 0,
        drop_void: bool = True,
        classes: Classes | None = None,
        unseen: int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Samples:
        """The samples, refused with a sentence that names the graph where X and Y do not fit each other.

        Labels are those that `encode_labels` takes; integers where nodes have types. `n_labels`, of all nodes or by
        type, is by default the highest label in Y plus 1, or the number of classes. From other data a model may be
        learned already, or is being learned: `known` is their number of labels, 0 for none; `classes` (L,), what these
        stand for; `unseen`, the number of labels that are none of them, which are refused where it is None. With
        `drop_void`, void nodes and their edges are left out of every batch.
        """
        X, Y = check_pairs(X, Y)
        n_node_features, n_edge_features, order = check_agreement(X[n] for n in range(len(X)))
        given = [Y[n] for n in range(len(Y))]
        Y, classes = encode_labels(given, classes, fitted=known > 0, unseen=unseen)
        labels, types, widths = _read_labels(X, Y, n_labels)
        if types is not None:
            n_labels = max(types.n_labels)
            if classes is not None:
                raise ValueError("Y must contain integers where nodes have types: each type numbers its labels from 0")
        assert not isinstance(n_labels, Sequence)
        highest = max((int(y.max()) for y in labels if y.size), default=-1)
        if highest < 0:
            raise ValueError("Y must label at least one node, but all nodes are void (-1)")
        if classes is not None and not known:
            n_labels = _count_classes(classes, n_labels)
        present = check_void_mark(labels, n_labels or known)
        if classes is None and len(present) == 2 and present[0] == VOID and not known and (n_labels or 2) <= 2:
            warnings.warn(
                f"Y contains only −1 and {highest}, and −1 means void: if it is a class, number the classes from 0",
                stacklevel=3,
            )
        if n_labels is None:
            n_labels = max({highest + 1, *widths})
        _check_widths(widths, n_labels)
        if highest >= n_labels:
            raise ValueError(f"Y must contain labels below n_labels={n_labels}, got {highest}")
        weight = check_sample_weight(sample_weight, len(X))
        return cls(X, labels, n_labels, n_node_features, n_edge_features, order, drop_void, classes, weight, types)

    def __len__(self) -> int:
        return len(self.X)

    def take(self, numbers: Sequence[int]) -> Samples:
        """Those of the samples with these numbers; of the same labels, whichever of them occur."""
        weight = None if self.weight is None else check_sample_weight(self.weight[numbers], len(numbers))
        return replace(self, X=Selection(self.X, numbers), Y=[self.Y[n] for n in numbers], weight=weight)

    def batch(self, indices: Sequence[int], dtype: torch.dtype) -> tuple[GraphBatch, Tensor]:
        """The graphs of `indices` as a batch and their labels (V,), without void nodes where they are to be dropped."""
        pairs = [self.labelled(n) for n in indices]
        batch = GraphBatch.from_graphs([graph for graph, _ in pairs], dtype)
        return batch, torch.from_numpy(np.concatenate([y for _, y in pairs]))

    def labelled(self, n: int) -> tuple[Graph, NDArray[np.int64]]:
        """Graph n and its labels, without its void nodes where they are to be dropped."""
        graph, y = self.X[n], self.Y[n]
        if self.drop_void and (y < 0).any():
            return graph.subgraph(y >= 0), y[y >= 0]
        return graph, y

    def chunks(self, indices: Sequence[int]) -> Iterator[list[int]]:
        """`indices` in their order, cut so that the tables of a chunk stay small; at least one graph each."""
        chunk: list[int] = []
        entries = 0
        for n in indices:
            size = self._entries(self.X[n])
            if chunk and entries + size > CHUNK_ENTRIES:
                yield chunk
                chunk, entries = [], 0
            chunk.append(n)
            entries += size
        if chunk:
            yield chunk

    def _entries(self, graph: Graph) -> int:
        # Of the tables; sparse features count as well, since a batch holds a copy of them.
        stored = int(graph.node_features.nnz) if is_sparse(graph.node_features) else 0
        entries = stored + graph.n_nodes * self.n_labels
        if self.types is not None and graph.node_types is not None:
            return entries + self.types.n_entries(graph.node_types, graph.edges)
        return entries + graph.n_edges * int(self.n_labels**self.order)

    def weights(self, indices: Sequence[int]) -> Tensor | None:
        """By what the losses of the graphs of `indices` are multiplied, (G,) in float64; None: by 1."""
        return None if self.weight is None else torch.from_numpy(self.weight[list(indices)])

    def edges_left(self) -> float:
        """Share of the edges that remain when void nodes are dropped."""
        if all((y >= 0).all() for y in self.Y):
            return 1.0
        total = left = 0
        for n, y in enumerate(self.Y):
            edges = self.X[n].edges
            total += len(edges)
            left += int((y[edges] >= 0).all(axis=1).sum())
        return left / total if total else 1.0

    def class_counts(self) -> NDArray[np.int64]:
        """Number of nodes of every class, (L,)."""
        return sum((np.bincount(y[y >= 0], minlength=self.n_labels) for y in self.Y), np.zeros(self.n_labels, np.int64))

    @property
    def few_labels(self) -> bool:
        """Whether void nodes stay, to be completed, and are more than half of all."""
        return not self.drop_void and 2 * int(self.class_counts().sum()) < sum(len(y) for y in self.Y)

    def class_weight(self, option: ClassWeight) -> NDArray[np.float64] | None:
        """η of every class, or pair of them, for `class_weight=None`, "balanced", a dict or an array (L,) or (L, L).

        "balanced" weighs a class by the inverse of its frequency, scaled so that the mean over the labelled nodes is 1;
        a class that does not occur weighs 0. A dict has weights by class; those that it does not name weigh 1.
        """
        if option is None:
            return None
        if self.types is not None:
            raise ValueError("class_weight must be None where nodes have types: weigh them by node_weight")
        if isinstance(option, Mapping):
            return self._weight_by_class(option)
        if isinstance(option, str):
            if option != "balanced":
                raise ValueError(f'class_weight must be None, "balanced", a dict or an array, got {option!r}')
            counts = self.class_counts()
            present = np.count_nonzero(counts)
            return np.where(counts > 0, counts.sum() / (present * np.maximum(counts, 1)), 0.0)
        try:
            weight = np.asarray(option, dtype=np.float64)
        except (TypeError, ValueError) as error:
            got = type(option).__name__
            raise ValueError(
                f'class_weight must be None, "balanced", a dict or an array of numbers, got {got}'
            ) from error
        if weight.shape not in ((self.n_labels,), (self.n_labels, self.n_labels)):
            raise ValueError(f"class_weight needs {self.n_labels} entries, one per label, got shape {weight.shape}")
        return weight

    def _weight_by_class(self, given: Mapping[Any, float]) -> NDArray[np.float64]:
        classes = list(range(self.n_labels)) if self.classes is None else self.classes.tolist()
        unknown = [label for label in given if label not in classes]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which is none of the {len(classes)} classes")
        return np.array([given.get(label, 1.0) for label in classes], dtype=np.float64)

    def digest(self) -> str:
        """A fingerprint of features, edges, labels and weights."""
        found = digest(self.X, self.Y)
        return found if self.weight is None else f"{found}-{hashlib.sha256(self.weight.data).hexdigest()}"


def _read_labels(
    X: Sequence[Graph], Y: Sequence[ArrayLike], n_labels: int | Sequence[int] | None
) -> tuple[list[NDArray[np.int64]], NodeTypes | None, set[int]]:
    """Labels of all graphs, the types of their nodes, and the numbers of labels that costs by label are for."""
    census, labels, kinds, widths = TypeCensus(), [], [], set()
    for n in range(len(X)):
        graph = X[n]
        labels.append(check_labels(Y[n], graph.n_nodes, f"Y[{n}]"))
        kinds.append(graph.node_types)
        census.see(graph.node_types, graph.edges, labels[n])
        if graph.node_weight is not None and graph.node_weight.ndim == 2:
            widths.add(graph.node_weight.shape[1])
    types = census.types(n_labels)
    for n, (y, node_types) in enumerate(zip(labels, kinds, strict=True)):
        if types is not None and node_types is not None:
            types.check_labels(y, node_types, f"Y[{n}]")
    return labels, types, widths


def check_sequence(name: str, value: Any) -> Sequence[Any]:
    """`value` as a sequence whose entry n is the n-th one; refused if it has no length and no entries by number.

    What may be read lazily stays as it is. All else becomes a list: `series[n]` of pandas is the entry of index n.
    """
    if not hasattr(value, "__len__") or not hasattr(value, "__getitem__") or isinstance(value, (str, Mapping)):
        raise ValueError(f"{name} must be a sequence with one entry per graph, got {type(value).__name__}")
    if isinstance(value, Sequence) or not hasattr(value, "__iter__"):
        return value  # type: ignore[no-any-return]
    return list(value.to_numpy() if hasattr(value, "to_numpy") else value)  # a DataFrame iterates over column names


def _check_widths(widths: set[int], n_labels: int) -> None:
    wrong = sorted(widths - {n_labels})
    if wrong:
        raise ValueError(f"a node_weight of shape (V, L) needs L={n_labels}, the number of labels, got L={wrong[0]}")


def check_pairs(X: Any, Y: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """X and Y as sequences whose entry n is the n-th one, refused unless they are of the same length."""
    X, Y = check_sequence("X", X), check_sequence("Y", Y)
    if len(X) != len(Y):
        raise ValueError(f"Y needs one label vector per graph: expected {len(X)}, got {len(Y)}")
    return X, Y


def check_sample_weight(weight: ArrayLike | None, n_graphs: int) -> NDArray[np.float64] | None:
    """`weight` as float64 (N,), refused unless it has a finite number ≥ 0 for every graph, not all of them 0."""
    if weight is None:
        return None
    values = np.array(weight, dtype=np.float64)
    if values.shape != (n_graphs,):
        raise ValueError(f"sample_weight needs one number per graph: expected shape ({n_graphs},), got {values.shape}")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("sample_weight must be finite and not negative")
    if not values.any():
        raise ValueError("sample_weight must contain at least one non-zero number")
    return values


def _count_classes(classes: Classes, n_labels: int | None) -> int:
    if n_labels not in (None, len(classes)):
        raise ValueError(f"n_labels={n_labels} must be None, or {len(classes)}, the number of classes in Y")
    return len(classes)


def check_void_mark(labels: Sequence[NDArray[np.int64]], known: int) -> NDArray[np.int64]:
    """The labels that occur, sorted; refused where 255 seems to mark void: few occur, and fewer than 256 are known."""
    present = np.unique(np.concatenate([*labels, np.zeros(0, np.int64)]))
    if known <= USUAL_VOID == present.max(initial=-1) and len(present) <= USUAL_VOID // 2:
        raise ValueError(
            f"Y contains {USUAL_VOID}, which often marks void: use −1 for void nodes, "
            f"or fit with n_labels={USUAL_VOID + 1} if it is a class"
        )
    return present


def digest(X: Sequence[Graph], Y: Sequence[ArrayLike]) -> str:
    """A fingerprint of the features, edges and labels of graphs X with labels Y."""
    total = hashlib.sha256()
    for n in range(len(X)):
        graph = X[n]
        further = graph.edges, graph.edge_features, graph.node_weight, graph.node_types, Y[n]
        for array in (*stored_arrays(graph.node_features), *further):
            total.update(b"" if array is None else np.ascontiguousarray(array).data)
    return total.hexdigest()


def has_edges(X: Sequence[Graph]) -> bool:
    """Whether any graph has an edge; graphs without fit edge features of any width."""
    return any(X[n].n_edges for n in range(len(X)))
