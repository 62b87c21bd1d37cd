"""Folders in, pictures and labels out; and synthetic scenes, chains and grids. Does not import vision.

- `ImageFolder` reads a labelled image set by split; `convert_*` make such folders of published sets.
- `make_scenes`, `write_scenes`: pictures in which only context separates some classes.
- `make_cells`, `write_cells`: micrographs of cells with thin membranes.
- `make_chains`, `make_grids`, `make_synergy`, `load_letters`, `load_snakes`: graphs with labels, without pictures.
- `load_scene`: points with several labels each.
- `make_blocks`, `make_checkerboard`, `make_crosses` and the like: PyStruct's toy pictures, as arrays.

Names load when they are first used, so that chains and grids need no package that reads pictures.
"""

from typing import TYPE_CHECKING

from neuralfactors._common.extras import lazy_names

if TYPE_CHECKING:
    from neuralfactors.datasets._cells import CELL_CLASSES, make_cells, write_cells
    from neuralfactors.datasets._chains import make_chains, make_grids, make_synergy
    from neuralfactors.datasets._convert import convert_kitti, convert_msrc21, convert_siftflow
    from neuralfactors.datasets._folder import ImageFolder, Sample
    from neuralfactors.datasets._images import (
        colour_labels,
        read_image,
        read_labels,
        write_image,
        write_label_map,
    )
    from neuralfactors.datasets._pystruct import load_letters, load_scene, load_snakes
    from neuralfactors.datasets._scenes import SCENE_CLASSES, make_scenes, write_scenes
    from neuralfactors.datasets._toys import (
        make_bars,
        make_blocks,
        make_boxes,
        make_checkerboard,
        make_crosses,
        make_squares,
        make_striped_checkerboard,
    )

__all__ = [
    "CELL_CLASSES",
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
    "make_cells",
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
    "write_cells",
    "write_image",
    "write_label_map",
    "write_scenes",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_cells": ("CELL_CLASSES", "make_cells", "write_cells"),
        "_chains": ("make_chains", "make_grids", "make_synergy"),
        "_convert": ("convert_kitti", "convert_msrc21", "convert_siftflow"),
        "_folder": ("ImageFolder", "Sample"),
        "_images": ("colour_labels", "read_image", "read_labels", "write_image", "write_label_map"),
        "_pystruct": ("load_letters", "load_scene", "load_snakes"),
        "_scenes": ("SCENE_CLASSES", "make_scenes", "write_scenes"),
        "_toys": (
            "make_bars",
            "make_blocks",
            "make_boxes",
            "make_checkerboard",
            "make_crosses",
            "make_squares",
            "make_striped_checkerboard",
        ),
    },
)
