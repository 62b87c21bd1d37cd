"""Folders in, pictures and labels out; and synthetic scenes, chains and grids. Knows no vision."""

from neuralfactors.datasets.convert import CONVERTERS, convert_kitti, convert_msrc21, convert_siftflow
from neuralfactors.datasets.folder import ImageFolder, Sample
from neuralfactors.datasets.images import (
    SUFFIXES,
    colour_labels,
    list_pictures,
    read_image,
    read_labels,
    write_image,
    write_label_map,
)
from neuralfactors.datasets.scenes import SCENE_CLASSES, make_scenes, write_scenes

__all__ = [
    "CONVERTERS",
    "SCENE_CLASSES",
    "SUFFIXES",
    "ImageFolder",
    "Sample",
    "colour_labels",
    "convert_kitti",
    "convert_msrc21",
    "convert_siftflow",
    "list_pictures",
    "make_scenes",
    "read_image",
    "read_labels",
    "write_image",
    "write_label_map",
    "write_scenes",
]
