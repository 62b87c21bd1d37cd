"""How well a segmenter does on labelled images, pixel by pixel, and what its parts would do alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralfactors.metrics import Scores, confusion_matrix
from neuralfactors.segmentation.graphs import LabelledGraphs
from neuralfactors.segmentation.segmenter import Segmenter

PARTS = ("unary", "interaction", "joint")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a segmenter on labelled images, by parts of its model; `joint` are those of its predictions."""

    unary: Scores
    interaction: Scores
    joint: Scores
    n_images: int


def evaluate(segmenter: Segmenter, graphs: LabelledGraphs) -> Evaluation:
    """Scores over all labelled pixels of images that the segmenter's describer has described."""
    n_labels = segmenter.describer_.n_labels
    counts = {part: np.zeros((n_labels, n_labels)) for part in PARTS}
    for sample, image, graph in zip(graphs.samples, graphs.images, graphs.X, strict=True):
        truth = sample.read_labels()
        for part, labels in segmenter.explain_graph(graph).items():
            counts[part] += confusion_matrix(truth, image.paint(labels), n_labels)
    return Evaluation(**{part: Scores(count) for part, count in counts.items()}, n_images=len(graphs.X))


def mean_interaction(segmenter: Segmenter, graphs: LabelledGraphs) -> NDArray[np.float64]:
    """Mean score (L, L) of every pair of labels over all edges of the graphs; axis 0 is the upper region's label."""
    n_labels = segmenter.describer_.n_labels
    total, n_edges = np.zeros((n_labels, n_labels)), 0
    for graph in graphs.X:
        tables = segmenter.potentials(graph)[1]
        total += tables.sum(axis=0, dtype=np.float64)
        n_edges += len(tables)
    return total / max(n_edges, 1)
