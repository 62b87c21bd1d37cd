"""Segmentation: labelled pictures in, a model out; pictures in, label maps out."""

from neuralfactors.segmentation.describer import Describer
from neuralfactors.segmentation.evaluation import Evaluation, evaluate, mean_interaction
from neuralfactors.segmentation.explanation import Explanation
from neuralfactors.segmentation.graphs import LabelledGraphs
from neuralfactors.segmentation.samples import ArraySample, LabelledImage
from neuralfactors.segmentation.segmenter import INTEGRATED, LEARNING_RATES, WITH_CNN, Segmenter, default_balance

__all__ = [
    "INTEGRATED",
    "LEARNING_RATES",
    "WITH_CNN",
    "ArraySample",
    "Describer",
    "Evaluation",
    "Explanation",
    "LabelledGraphs",
    "LabelledImage",
    "Segmenter",
    "default_balance",
    "evaluate",
    "mean_interaction",
]
