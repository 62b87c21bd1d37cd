"""Segmentation: labelled pictures in, a model out; pictures in, label maps out.

`Segmenter` is all that most users need. Beneath it a `Describer` turns images into `LabelledGraphs`, which several
models can share, and `evaluate` judges a segmenter by parts of its model.
"""

from neuralfactors.extras import needs

with needs(__name__, "segment"):
    from neuralfactors.segmentation.defaults import default_parameters
    from neuralfactors.segmentation.describer import Describer
    from neuralfactors.segmentation.evaluation import Evaluation, evaluate
    from neuralfactors.segmentation.explanation import Explanation
    from neuralfactors.segmentation.graphs import LabelledGraphs
    from neuralfactors.segmentation.samples import ArraySample, LabelledImage
    from neuralfactors.segmentation.segmenter import Segmenter

__all__ = [
    "ArraySample",
    "Describer",
    "Evaluation",
    "Explanation",
    "LabelledGraphs",
    "LabelledImage",
    "Segmenter",
    "default_parameters",
    "evaluate",
]
