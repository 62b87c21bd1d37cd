"""The pages of the API reference: a table for each public room, of the names in its `__all__`."""

import importlib

from docstrings import ROOMS

CONSTANTS = {
    "CELL_CLASSES": "Names of the labels of `make_cells`.",
    "METHODS": "Names of the inference methods.",
    "SCENE_CLASSES": "Names of the labels of `make_scenes`.",
    "SUM_METHODS": "Names of the methods that sum over all labellings.",
}


def write_pages(folder):
    """A page for each room; a name that an earlier room has is left out. Pages of names that are gone go, too."""
    seen, kept = set(), set()
    for room in (importlib.import_module(f"neuralfactors{room}") for room in ROOMS):
        names = [name for name in room.__all__ if name not in seen]
        page = room_page(room, names)
        path = folder / f"{room.__name__}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")
        seen |= set(names)
        kept |= {f"{room.__name__}.{name}" for name in names}
    for path in (folder / "names").glob("*.rst"):
        if path.stem not in kept:
            path.unlink()


def room_page(room, names):
    """The page of a room: its docstring, its constants, and a table that makes a page for each name."""
    title = f"{room.__name__}\n{'=' * len(room.__name__)}\n"
    module = f".. currentmodule:: {room.__name__}\n"
    constants = [
        f".. py:data:: {name}\n   :value: {getattr(room, name)!r}\n\n   {CONSTANTS[name]}\n"
        for name in names
        if name in CONSTANTS
    ]
    entries = "".join(f"   {name}\n" for name in names if name not in CONSTANTS)
    table = f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{entries}"
    return "\n".join([title, module, f"{room.__doc__.strip()}\n", *constants, table])
