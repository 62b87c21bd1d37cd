"""Images in, graphs out: regions, descriptors, words, CNN features. Knows no learning."""

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
