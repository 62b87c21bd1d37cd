"""What a model says of one graph; and predictions on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from neuralfactors._core.potentials import Potentials
from neuralfactors.vision._parallel import map_items

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Prediction:
    """Labels of a graph by parts of a model, and what its interaction factors say on the whole."""

    unary: NDArray[np.int64]  # (V,) by the unary factors alone
    interaction: NDArray[np.int64]  # (V,) by the interaction factors alone
    joint: NDArray[np.int64]  # (V,) by both: the prediction
    interaction_sum: NDArray[np.float64]  # (L, L) the sum of all interaction scores
    n_edges: int

    @property
    def by_part(self) -> dict[str, NDArray[np.int64]]:
        """The three labellings by the name of the part."""
        return {"unary": self.unary, "interaction": self.interaction, "joint": self.joint}


def as_arrays(potentials: Potentials) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Unary scores (V, L), interaction scores (E, L, L) and edges (E, 2), as `solve` takes them."""
    return potentials.unary.cpu().numpy(), potentials.interaction.cpu().numpy(), potentials.edges.cpu().numpy()


def conditional_scores(potentials: Potentials, labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Scores (V, L) of the labels of every node while all others have theirs of `labels` (V,).

    They are log-probabilities of the label given the others, but for a constant a node.
    """
    unary, interaction, edges = as_arrays(potentials)
    scores, (one, other), number = unary.astype(np.float32), edges.T, np.arange(len(edges))
    np.add.at(scores, one, interaction[number, :, labels[other]])
    np.add.at(scores, other, interaction[number, labels[one], :])
    return np.asarray(scores, dtype=np.float32)


def each_on_all_cores(
    function: Callable[[Item], Result], items: Sequence[Item], progress: str | None = None
) -> Iterator[Result]:
    """Results of a function, in order, by as many threads as torch has; solvers run without the interpreter's lock.

    Each is there as soon as it and all before it are. The function is called from several threads. The text `progress`
    precedes a progress bar.
    """
    n_jobs = torch.get_num_threads() if len(items) > 1 else 1
    return map_items(function, items, total=len(items), n_jobs=n_jobs, threads=True, progress=progress)
