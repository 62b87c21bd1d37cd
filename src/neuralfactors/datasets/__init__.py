"""Folders in, pictures and labels out; and synthetic scenes, chains and grids. Knows no vision.

Names load when they are first used, so that chains and grids need no package that reads pictures.
"""

from typing import TYPE_CHECKING

from neuralfactors.extras import lazy_names

if TYPE_CHECKING:
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

_HOMES = {
    "CONVERTERS": "convert",
    "SCENE_CLASSES": "scenes",
    "SUFFIXES": "images",
    "ImageFolder": "folder",
    "Sample": "folder",
    "colour_labels": "images",
    "convert_kitti": "convert",
    "convert_msrc21": "convert",
    "convert_siftflow": "convert",
    "list_pictures": "images",
    "make_scenes": "scenes",
    "read_image": "images",
    "read_labels": "images",
    "write_image": "images",
    "write_label_map": "images",
    "write_scenes": "scenes",
}

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
