"""From torch potentials to labels: the one place where learning calls inference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralfactors.inference import solve, solve_batch
from neuralfactors.potentials import Potentials


@dataclass(frozen=True)
class Decoded:
    """Labels of a batch with what is known of their quality, per graph."""

    labels: Tensor  # (V,) int64, on the device of the potentials
    score: NDArray[np.float64]  # (G,)
    bound: NDArray[np.float64]  # (G,) no labelling scores higher
    optimal: NDArray[np.bool_]  # (G,) proved

    @property
    def gap(self) -> NDArray[np.float64]:
        """How far the score may be from the maximum, (G,)."""
        return np.maximum(self.bound - self.score, 0.0)


@dataclass(frozen=True)
class Decoder:
    """Maximiser of potentials: call it with Potentials, get Decoded.

    Potentials on another device come to the CPU in one transfer, and the labels go back in one.
    """

    method: str = "auto"
    tol: float = 1e-4
    max_iter: int | None = None
    n_threads: int | None = None
    random_state: int = 0

    def for_training(self) -> Self:
        """The same decoder with ten times the tolerance: what is learnt from needs no proof that it is the maximum."""
        return replace(self, tol=10 * self.tol)

    def __call__(self, potentials: Potentials) -> Decoded:
        """The labelling of highest score that the method finds, for every graph of the batch."""
        labels, score, bound, optimal = self.decode(
            _to_numpy(potentials.unary),
            _to_numpy(potentials.interaction),
            potentials.edges.cpu().contiguous().numpy(),
            potentials.node_ptr.numpy(),
            potentials.edge_ptr.numpy(),
        )
        return Decoded(torch.from_numpy(labels).to(potentials.unary.device), score, bound, optimal)

    def decode(
        self,
        unary: NDArray[Any],
        interaction: NDArray[Any],
        edges: NDArray[np.int64],
        node_ptr: NDArray[np.int64],
        edge_ptr: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Labels, and score, bound and proof of every graph, from the arrays of a batch."""
        if edges.shape[1] != 2:
            return self._decode_higher_order(unary, interaction, edges, node_ptr, edge_ptr)
        found = solve_batch(unary, interaction, edges, node_ptr, edge_ptr, n_threads=self.n_threads, **self._options)
        return found.labels, found.score, found.bound, np.asarray(found.status) == "optimal"

    @property
    def _options(self) -> dict[str, Any]:
        return {"method": self.method, "tol": self.tol, "random_state": self.random_state, "max_iter": self.max_iter}

    def _decode_higher_order(
        self,
        unary: NDArray[Any],
        interaction: NDArray[Any],
        edges: NDArray[np.int64],
        node_ptr: NDArray[np.int64],
        edge_ptr: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        # Inference takes factors of higher order one graph at a time, as a list beside the edges.
        no_tables = np.zeros((0, unary.shape[1], unary.shape[1]), dtype=unary.dtype)
        no_edges = np.zeros((0, 2), dtype=np.int64)
        results = []
        for g in range(len(node_ptr) - 1):
            start, rows = node_ptr[g], range(edge_ptr[g], edge_ptr[g + 1])
            factors = [(tuple((edges[e] - start).tolist()), interaction[e]) for e in rows]
            results.append(solve(unary[start : node_ptr[g + 1]], no_tables, no_edges, factors=factors, **self._options))
        return (
            np.concatenate([result.labels for result in results]),
            np.array([result.score for result in results]),
            np.array([result.bound for result in results]),
            np.array([result.status == "optimal" for result in results]),
        )


def clamp_labelled(potentials: Potentials, y: Tensor) -> Potentials:
    """The potentials in which every labelled node of `y` (V,) must take its label and the void ones are free."""
    allowed = torch.zeros_like(potentials.unary, dtype=torch.bool).scatter_(1, y.clamp_min(0)[:, None], True)
    allowed |= (y < 0)[:, None]
    return replace(potentials, unary=potentials.unary.masked_fill(~allowed, -torch.inf))


def _to_numpy(values: Tensor) -> NDArray[Any]:
    values = values.detach()
    if values.dtype not in (torch.float32, torch.float64):
        values = values.float()
    return values.cpu().contiguous().numpy()
