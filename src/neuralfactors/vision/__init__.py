"""Images in, graphs out: regions, descriptors, words, CNN features. Independent of learning.

`FeatureBuilder` does it all, by `FeatureSettings`. The steps on the way, for those who want a graph of their own:
`find_regions`, `region_edges`, `majority_labels` and `paint`.
"""

from neuralfactors._common.extras import needs

with needs(__name__, "segment"):
    from neuralfactors.vision._builder import FeatureBuilder
    from neuralfactors.vision._image_graph import ImageGraph
    from neuralfactors.vision._onnx import OnnxBackbone
    from neuralfactors.vision._region_geometry import majority_labels, paint, region_edges
    from neuralfactors.vision._regions import find_regions
    from neuralfactors.vision._settings import CNNSettings, FeatureSettings, WordSettings

__all__ = [
    "CNNSettings",
    "FeatureBuilder",
    "FeatureSettings",
    "ImageGraph",
    "OnnxBackbone",
    "WordSettings",
    "find_regions",
    "majority_labels",
    "paint",
    "region_edges",
]
