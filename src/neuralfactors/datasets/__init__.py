"""Folders in, pictures and labels out; and synthetic scenes, chains and grids. Does not import vision.

- `ImageFolder` reads a labelled image set by split; `convert_*` make such folders of published sets.
- `make_scenes`, `write_scenes`: pictures in which only context tells classes apart.
- `make_chains`, `make_grids`, `make_synergy`, `load_letters`, `load_snakes`: graphs with labels, without pictures.
- `load_scene`: points with several labels each.
- `make_blocks`, `make_checkerboard`, `make_crosses` and the like: PyStruct's toy pictures, as arrays.

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
    from neuralfactors.datasets.pystruct import load_letters, load_scene, load_snakes
    from neuralfactors.datasets.scenes import SCENE_CLASSES, make_scenes, write_scenes
    from neuralfactors.datasets.toys import (
        make_bars,
        make_blocks,
        make_boxes,
        make_checkerboard,
        make_crosses,
        make_squares,
        make_striped_checkerboard,
    )

__all__ = [
    "SCENE_CLASSES",
    "ImageFolder",
    "Sample",
    "colour_labels",
    "convert_kitti",
    "convert_msrc21",
    "convert_siftflow",
    "load_letters",
    "load_scene",
    "load_snakes",
    "make_bars",
    "make_blocks",
    "make_boxes",
    "make_chains",
    "make_checkerboard",
    "make_crosses",
    "make_grids",
    "make_scenes",
    "make_squares",
    "make_striped_checkerboard",
    "make_synergy",
    "read_image",
    "read_labels",
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
    "load_letters": "pystruct",
    "load_scene": "pystruct",
    "load_snakes": "pystruct",
    "make_bars": "toys",
    "make_blocks": "toys",
    "make_boxes": "toys",
    "make_chains": "chains",
    "make_checkerboard": "toys",
    "make_crosses": "toys",
    "make_grids": "chains",
    "make_scenes": "scenes",
    "make_squares": "toys",
    "make_striped_checkerboard": "toys",
    "make_synergy": "chains",
    "read_image": "images",
    "read_labels": "images",
    "write_image": "images",
    "write_label_map": "images",
    "write_scenes": "scenes",
}

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
