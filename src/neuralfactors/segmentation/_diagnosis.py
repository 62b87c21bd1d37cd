"""What the figures of a model hide but users should know: regions too coarse, nothing learnt but one class."""

from __future__ import annotations

import numpy as np

from neuralfactors.metrics import Scores
from neuralfactors.segmentation._fine_tuning import as_seen
from neuralfactors.segmentation._graph_labeller import GraphLabeller
from neuralfactors.segmentation._graphs import LabelledGraphs

LOOKED_AT = 30  # images, evenly spaced, by which a model is judged
# Where less than this share of what is not of the largest class is predicted to be something else.
HARDLY_ANY = 0.25


def diagnosed(segmenter: GraphLabeller, graphs: LabelledGraphs) -> list[str]:
    """Sentences about a model and the images that it has learnt from; none where all is well."""
    names = segmenter.class_names
    coarse = graphs.ceiling(len(names)).advice(names, graphs.mean_regions, segmenter.describer_.stop)
    return [told for told in (coarse, one_class_only(segmenter, graphs)) if told]


def one_class_only(segmenter: GraphLabeller, graphs: LabelledGraphs) -> str:
    """A sentence about a model that predicts hardly anything but the largest class; empty where it does not."""
    chosen = graphs.take(range(0, len(graphs.X), -(-len(graphs.X) // LOOKED_AT)))
    return largest_class_alone(segmenter.score_graphs(as_seen(segmenter.describer_, chosen)), segmenter.class_names)


def largest_class_alone(scores: Scores, names: list[str]) -> str:
    """The sentence by the confusion matrix of a model, for classes of these names.

    It is empty unless the labels that the model predicts other than that of the largest class are less than a quarter
    of what they should be.
    """
    total = max(float(scores.confusion.sum()), 1e-12)
    true, predicted = scores.confusion.sum(axis=1) / total, scores.confusion.sum(axis=0) / total
    largest = int(np.argmax(true))
    if not 1 - predicted[largest] < HARDLY_ANY * (1 - true[largest]):
        return ""
    return (
        f"The model has learnt hardly more than the largest class: it calls {100 * predicted[largest]:.1f} % of the "
        f"pixels {names[largest]}, which {100 * true[largest]:.1f} % are; take finer regions, other features "
        "(cnn), a higher balance or more epochs"
    )
