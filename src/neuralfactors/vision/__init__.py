"""Images in, graphs out: regions, descriptors, words, CNN features. Independent of learning.

`FeatureBuilder` does it all, by `FeatureSettings`. The steps on the way, for those who want a graph of their own:
`find_regions`, `region_edges`, `majority_labels` and `paint`.
"""

from neuralfactors.extras import needs

with needs(__name__, "segment"):
    from neuralfactors.vision.builder import FeatureBuilder
    from neuralfactors.vision.image_graph import ImageGraph
    from neuralfactors.vision.layout import majority_labels, paint, region_edges
    from neuralfactors.vision.regions import find_regions
    from neuralfactors.vision.settings import CNNSettings, FeatureSettings

__all__ = [
    "CNNSettings",
    "FeatureBuilder",
    "FeatureSettings",
    "ImageGraph",
    "find_regions",
    "majority_labels",
    "paint",
    "region_edges",
]
