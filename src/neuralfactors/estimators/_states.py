"""Which states the labels have: those of all nodes, or of the nodes of every type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._core.node_types import NodeTypes

Labels = NDArray[np.int64]
Counts = int | Sequence[int | Sequence[int]]  # of states
NO_STATE = -2  # neither a label nor void


@dataclass(frozen=True, eq=False)
class States:
    """The label of every state, type by type; a single array where nodes have no types."""

    by_type: tuple[Labels, ...]  # each rising, from 0
    typed: bool = False

    @classmethod
    def of(cls, n_states: Any, n_labels: int, types: NodeTypes | None) -> States:
        """The states that `n_states` asks for: a number, one for each label, or for each type one or the other."""
        if types is None:
            return cls((_labels_of_states(n_states, n_labels, "n_states"),))
        counts = types.n_labels
        if isinstance(n_states, (int, np.integer)):
            n_states = [n_states] * len(counts)
        if not isinstance(n_states, (Sequence, np.ndarray)) or len(n_states) != len(counts):
            expected = f"a number ≥ 1, or {len(counts)} entries, one per type of nodes"
            raise ValueError(f"n_states must be {expected}, got {n_states!r}")
        pairs = zip(n_states, counts, strict=True)
        found = [_labels_of_states(given, n, f"n_states[{t}]") for t, (given, n) in enumerate(pairs)]
        return cls(tuple(found), typed=True)

    @classmethod
    def stored(cls, plain: Any) -> States:
        """Those that `plain` was made from."""
        typed = isinstance(plain[0], list)
        return cls(tuple(np.array(labels, np.int64) for labels in (plain if typed else [plain])), typed)

    @property
    def plain(self) -> list[Any]:
        """Labels of states as JSON has them: a list, or one for every type."""
        found = [labels.tolist() for labels in self.by_type]
        return found if self.typed else found[0]

    @property
    def counts(self) -> list[int]:
        """Number of states, by type."""
        return [len(labels) for labels in self.by_type]

    @property
    def n_labels(self) -> list[int]:
        """Number of labels, by type."""
        return [int(labels.max()) + 1 for labels in self.by_type]

    @property
    def hidden(self) -> bool:
        """Whether any label has more than one state."""
        return self.counts != self.n_labels

    @cached_property
    def table(self) -> Labels:
        """Labels of states (T, S), NO_STATE behind those of types that have fewer."""
        table = np.full((len(self.counts), max(self.counts)), NO_STATE)
        for row, labels in zip(table, self.by_type, strict=True):
            row[: len(labels)] = labels
        return table

    def rows(self, node_types: Labels | None, n_nodes: int) -> Labels:
        """The label of every state of every node, (V, S)."""
        return self.table[np.zeros(n_nodes, np.int64) if node_types is None else node_types]

    def labels(self, states: Labels, node_types: Labels | None) -> Labels:
        """Labels (V,) of nodes in these states."""
        found: Labels = self.table[0 if node_types is None else node_types, states]
        return found

    def add_up(self, probability: NDArray[Any], node_types: Labels | None) -> NDArray[Any]:
        """Probabilities of labels (V, L) from those of states (V, S)."""
        found = np.zeros((len(probability), max(self.n_labels)), probability.dtype)
        for kind, labels in enumerate(self.by_type):
            nodes = slice(None) if node_types is None else node_types == kind
            of_label = np.eye(found.shape[1], dtype=probability.dtype)[labels]
            found[nodes] = probability[nodes][:, : len(labels)] @ of_label
        return found


def _labels_of_states(n_states: Any, n_labels: int, name: str) -> Labels:
    counts = np.full(n_labels, n_states) if isinstance(n_states, (int, np.integer)) else np.asarray(n_states)
    if counts.shape != (n_labels,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise ValueError(f"{name} must be a number ≥ 1 or {n_labels} of them, one per label, got {n_states!r}")
    return np.repeat(np.arange(n_labels), counts)
