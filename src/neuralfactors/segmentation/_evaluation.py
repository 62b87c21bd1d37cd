"""How well a segmenter does on labelled images, pixel by pixel, and what its parts would do alone."""

from __future__ import annotations

from collections.abc import Iterator
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
    labels : list of ndarray of shape (V,)
        Predicted labels of the regions of every image.
    mean_interaction : ndarray of shape (L, L)
        Interaction scores, averaged over all edges; axis 0 is the upper region's label.
    """

    unary: Scores
    interaction: Scores
    joint: Scores
    labels: list[NDArray[np.int64]]
    mean_interaction: NDArray[np.float64]

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.labels)


def image_confusions(segmenter: Segmenter, graphs: LabelledGraphs) -> dict[str, NDArray[np.float64]]:
    """Pixels (N, L, L) of every image by true and predicted class, by parts of the model."""
    counts = [[count[part] for part in PARTS] for count, _ in _judged(segmenter, graphs)]
    return dict(zip(PARTS, np.stack(counts, axis=1), strict=True))


def evaluate(segmenter: Segmenter, graphs: LabelledGraphs) -> Evaluation:
    """Scores over all labelled pixels of described images.

    Parameters
    ----------
    segmenter : Segmenter
        Fitted.
    graphs : LabelledGraphs
        From its describer.

    Returns
    -------
    Evaluation
        By parts of the model. Each image goes through the networks once.
    """
    n_labels = segmenter.describer_.n_labels
    counts = {part: np.zeros((n_labels, n_labels)) for part in PARTS}
    interactions, n_edges, labels = np.zeros((n_labels, n_labels)), 0, []
    for count, found in _judged(segmenter, graphs):
        for part in PARTS:
            counts[part] += count[part]
        interactions += found.interaction_sum
        n_edges += found.n_edges
        labels.append(found.joint)
    scores = {part: Scores(count) for part, count in counts.items()}
    return Evaluation(**scores, labels=labels, mean_interaction=interactions / max(n_edges, 1))


def _judged(
    segmenter: Segmenter, graphs: LabelledGraphs
) -> Iterator[tuple[dict[str, NDArray[np.float64]], Prediction]]:
    """Of every image, its pixels (L, L) by parts of the model, and what that says of its regions."""
    n_labels = segmenter.describer_.n_labels

    def judge(n: int) -> tuple[dict[str, NDArray[np.float64]], Prediction]:
        potentials = segmenter.potentials(graphs.X[n])
        found = segmenter.explain_potentials(potentials)
        count = {part: graphs.truth[n].confusion(y_pred, n_labels) for part, y_pred in found.by_part.items()}
        return {**count, "joint": segmenter.confusion(graphs, n, potentials, found.joint)}, found

    return each_on_all_cores(judge, range(len(graphs.X)))
