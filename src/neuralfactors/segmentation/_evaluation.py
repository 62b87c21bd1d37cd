"""How well a segmenter does on labelled images, pixel by pixel, and what its parts would do alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralfactors.metrics import Scores
from neuralfactors.segmentation._graph_prediction import Prediction, each_on_all_cores
from neuralfactors.segmentation._graphs import LabelledGraphs
from neuralfactors.segmentation._segmenter import Segmenter

PARTS = ("unary", "interaction", "joint")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a segmenter on labelled images, by parts of its model.

    Parameters
    ----------
    unary : Scores
        Of every region by the unary factors alone.
    interaction : Scores
        Of the interaction factors alone.
    joint : Scores
        Of both together: those of the predictions, which are finer than regions where the features refine them.
    mean_interaction : ndarray of shape (L, L)
        Interaction scores, averaged over all edges; axis 0 is the upper region's label.
    n_images : int
        Number of images.
    maps : dict of int to ndarray of shape (H, W)
        Predicted label maps of the images that were asked for, by their numbers.
    """

    unary: Scores
    interaction: Scores
    joint: Scores
    mean_interaction: NDArray[np.float64]
    n_images: int
    maps: dict[int, NDArray[np.int64]]


def image_confusions(segmenter: Segmenter, graphs: LabelledGraphs) -> dict[str, NDArray[np.float64]]:
    """Pixels (N, L, L) of every image by true and predicted class, by parts of the model."""
    counts = [[count[part] for part in PARTS] for count, *_ in _judged(segmenter, graphs)]
    return dict(zip(PARTS, np.stack(counts, axis=1), strict=True))


def evaluate(segmenter: Segmenter, graphs: LabelledGraphs, painted: Collection[int] = ()) -> Evaluation:
    """Scores over all labelled pixels of described images.

    Parameters
    ----------
    segmenter : Segmenter
        Fitted.
    graphs : LabelledGraphs
        From its describer.
    painted : collection of int, default=()
        Numbers of the images whose label maps to keep.

    Returns
    -------
    Evaluation
        By parts of the model. Each image goes through the networks once.
    """
    n_labels = segmenter.describer_.n_labels
    counts = {part: np.zeros((n_labels, n_labels)) for part in PARTS}
    interactions, n_edges, maps = np.zeros((n_labels, n_labels)), 0, {}
    for n, (count, found, labels) in enumerate(_judged(segmenter, graphs)):
        for part in PARTS:
            counts[part] += count[part]
        interactions += found.interaction_sum
        n_edges += found.n_edges
        if n in painted:
            maps[n] = graphs.images[n].paint(found.joint) if labels is None else labels
    scores = {part: Scores(count) for part, count in counts.items()}
    return Evaluation(**scores, mean_interaction=interactions / max(n_edges, 1), n_images=len(graphs.X), maps=maps)


def _judged(
    segmenter: Segmenter, graphs: LabelledGraphs
) -> Iterator[tuple[dict[str, NDArray[np.float64]], Prediction, NDArray[np.int64] | None]]:
    """Of every image its pixels (L, L) by parts of the model, what that says of its regions, and a finer label map."""
    n_labels = segmenter.describer_.n_labels

    def judged(n: int) -> tuple[dict[str, NDArray[np.float64]], Prediction, NDArray[np.int64] | None]:
        potentials = segmenter.potentials(graphs.X[n])
        found = segmenter.explain_potentials(potentials)
        count = {part: graphs.truth[n].confusion(y_pred, n_labels) for part, y_pred in found.by_part.items()}
        count["joint"], painted = segmenter.judge(graphs, n, potentials, found.joint)
        return count, found, painted

    return each_on_all_cores(judged, range(len(graphs.X)))
