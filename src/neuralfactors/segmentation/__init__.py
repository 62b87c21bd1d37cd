"""Segmentation: labelled pictures in, a model out; pictures in, label maps out."""

from neuralfactors.extras import needs

with needs(__name__, "segment"):
    from neuralfactors.segmentation.defaults import WITH_CNN, default_balance, default_batch_size, default_parameters
    from neuralfactors.segmentation.describer import Describer
    from neuralfactors.segmentation.evaluation import Evaluation, evaluate
    from neuralfactors.segmentation.explanation import Explanation
    from neuralfactors.segmentation.graphs import LabelledGraphs
    from neuralfactors.segmentation.samples import ArraySample, LabelledImage
    from neuralfactors.segmentation.segmenter import Segmenter

__all__ = [
    "WITH_CNN",
    "ArraySample",
    "Describer",
    "Evaluation",
    "Explanation",
    "LabelledGraphs",
    "LabelledImage",
    "Segmenter",
    "default_balance",
    "default_batch_size",
    "default_parameters",
    "evaluate",
]
