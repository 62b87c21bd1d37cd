"""Segmentation: labelled pictures in, a model out; pictures in, label maps out.

`Segmenter` is all that most users need. Beneath it a `Describer` turns images into `LabelledGraphs`, which several
models can share, and `evaluate` judges a segmenter by parts of its model.
"""

from neuralfactors._common.extras import needs

with needs(__name__, "segment"):
    from neuralfactors._common.ceiling import Ceiling
    from neuralfactors.segmentation._defaults import default_parameters
    from neuralfactors.segmentation._describer import Describer
    from neuralfactors.segmentation._evaluation import Evaluation, evaluate
    from neuralfactors.segmentation._explanation import Explanation
    from neuralfactors.segmentation._graphs import LabelledGraphs
    from neuralfactors.segmentation._labelled_images import ArraySample, LabelledImage, PreparedImage
    from neuralfactors.segmentation._segmenter import Segmenter

__all__ = [
    "ArraySample",
    "Ceiling",
    "Describer",
    "Evaluation",
    "Explanation",
    "LabelledGraphs",
    "LabelledImage",
    "PreparedImage",
    "Segmenter",
    "default_parameters",
    "evaluate",
]
