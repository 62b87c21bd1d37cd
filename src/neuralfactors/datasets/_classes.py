"""The classes of a labelled image set: `classes.txt`, which of them count as void, and their colours."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import check_regular
from neuralfactors._common.labels import VOID

VOID_NAMES = ("void", "ignore", "unlabelled", "unlabeled")
MAX_INDEX = 65535  # label maps have at most 16 bits a pixel
# Numbers joined by commas or begun by a bracket, as in "sky (0, 0, 255)": a colour, not a part of the name.
COLOUR_IN_NAME = re.compile(r"\d ?[,;] ?\d|[(\[{] ?\d+ \d|\d \d+ ?[,;]$")

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class ClassEntry:
    """One line of `classes.txt`."""

    index: int  # the value of its pixels in a label map of one channel
    name: str
    colour: Colour | None = None  # the colour of its pixels in an RGB label map, and in pictures of predictions


@dataclass(frozen=True)
class Classes:
    """The classes of a set: labels are 0, 1, ... for those that count, in the order of the file; −1 for void ones."""

    entries: tuple[ClassEntry, ...]
    void: frozenset[str] = frozenset()  # names beside those that are always void, `VOID_NAMES`

    def __post_init__(self) -> None:
        names = [entry.name for entry in self.entries]
        for name in self.void:
            if name not in names:
                raise ValueError(f"there is no class {name!r}; the classes are {', '.join(names)}")
        if not self.names:
            raise ValueError("at least one class must not be void")

    @classmethod
    def read(cls, path: Path, void: Collection[str] = ()) -> Classes:
        """The classes of a file with a line ``index name [R G B]`` for each; ``#`` begins a comment."""
        try:
            lines = read_utf8(path).splitlines()
        except FileNotFoundError:
            raise ValueError(f"{path} is missing: it names the classes, one line 'index name [R G B]' each") from None
        entries = []
        for number, line in enumerate(lines, start=1):
            words = line.split("#")[0].split()
            if words:
                entries.append(_parse(words, f"{path}, line {number}"))
        for what, values in (("index", [str(e.index) for e in entries]), ("name", [e.name for e in entries])):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ValueError(f"{path}: the {what} {twice[0]} occurs more than once")
        if not entries:
            raise ValueError(f"{path} contains no class")
        return cls(tuple(entries), frozenset(void))

    def write(self, path: Path) -> None:
        """Write the file that `read` reads."""
        lines = [f"{e.index} {e.name} {' '.join(map(str, e.colour or ()))}".rstrip() for e in self.entries]
        path.write_text("# index name [R G B]\n" + "\n".join(lines) + "\n", encoding="utf-8")

    @property
    def kept(self) -> list[ClassEntry]:
        """The classes that are not void, in the order of their labels."""
        return [e for e in self.entries if e.name.lower() not in VOID_NAMES and e.name not in self.void]

    @property
    def names(self) -> list[str]:
        """Name of each label."""
        return [entry.name for entry in self.kept]

    @property
    def palette(self) -> NDArray[np.uint8]:
        """Colour (L, 3) of each label; where the file has none, one of equally spaced hues."""
        spaced = spaced_colours(len(self.kept))
        chosen = [entry.colour or spaced[label] for label, entry in enumerate(self.kept)]
        return np.array(chosen, dtype=np.uint8)

    @property
    def index_palette(self) -> NDArray[np.uint8]:
        """Colour (256, 3) of each class index, for label maps of one channel; black where there is no class."""
        colours = np.zeros((256, 3), dtype=np.uint8)
        for entry, colour in zip(self.kept, self.palette, strict=True):
            if entry.index < len(colours):
                colours[entry.index] = colour
        return colours

    def labels_of_indices(self, indices: NDArray[np.integer], source: object) -> NDArray[np.int64]:
        """Labels (H, W) of a map of class indices; `source` names it in an error."""
        return self._look_up(indices.astype(np.int64), [e.index for e in self.entries], source, "index {}".format)

    def labels_of_colours(self, colours: NDArray[np.uint8], source: object) -> NDArray[np.int64]:
        """Labels (H, W) of an RGB map (H, W, 3)."""
        missing = [e.name for e in self.entries if e.colour is None]
        if missing:
            raise ValueError(
                f"{source} is an RGB label map, but classes.txt has no colour for the class {missing[0]!r}"
            )
        codes = _code(colours.astype(np.int64))
        known = [int(_code(np.array(e.colour))) for e in self.entries]
        first: dict[int, tuple[str, int]] = {}  # name and label of the first class of a colour
        for entry, code, label in zip(self.entries, known, self._labels, strict=True):
            other, expected = first.setdefault(code, (entry.name, label))
            if label != expected:
                raise ValueError(
                    f"{source} is an RGB label map, but {other!r} and {entry.name!r} share a colour in classes.txt"
                )
        return self._look_up(codes, known, source, lambda code: f"colour {(code >> 16, code >> 8 & 255, code & 255)}")

    def check_palette(self, used: NDArray[np.integer], palette: NDArray[np.integer], source: object) -> None:
        """Refuse a map of indices whose `palette` (n, 3) shows one of the `used` in the colour of another class.

        Programs that make pictures smaller number the colours afresh: such indices are not those of the classes.
        """
        colour_of = {entry.index: entry.colour for entry in self.entries}
        name_of = {entry.colour: entry.name for entry in self.entries if entry.colour is not None}
        for index in used[used < len(palette)].tolist():
            shown = tuple(palette[index].tolist())
            if colour_of.get(index) is not None and shown != colour_of[index] and shown in name_of:
                raise ValueError(
                    f"{source} shows index {index} in the colour of {name_of[shown]!r}, which has another index in "
                    "classes.txt: save it with the indices of the classes, or as RGB"
                )

    @property
    def _labels(self) -> list[int]:
        label_of = {entry.name: label for label, entry in enumerate(self.kept)}
        return [label_of.get(entry.name, VOID) for entry in self.entries]

    def _look_up(
        self, values: NDArray[np.int64], known: Sequence[int], source: object, name: Callable[[int], str]
    ) -> NDArray[np.int64]:
        """Labels of pixels that have the `values`; refused where one of these is unknown."""
        labels = np.array(self._labels)
        present = _distinct(values)
        position = {value: n for n, value in enumerate(known)}
        unknown = [int(value) for value in present if int(value) not in position]
        if unknown:
            raise ValueError(f"{source} has pixels of {name(unknown[0])}, which classes.txt does not name")
        found = np.array([labels[position[int(value)]] for value in present], dtype=np.int64)
        return found[np.searchsorted(present, values)]


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different values, sorted; small ones are counted, which is quicker than sorting them all."""
    if 0 <= values.min(initial=0) <= values.max(initial=0) < 2**16:
        return np.flatnonzero(np.bincount(values.ravel()))
    return np.unique(values)


def spaced_colours(n: int) -> list[Colour]:
    """`n` colours of equally spaced hues, alternately dark and light."""
    turns = [(k * 0.618034) % 1.0 for k in range(n)]
    shades = [colorsys.hsv_to_rgb(turn, 0.65, 0.95 if k % 2 else 0.7) for k, turn in enumerate(turns)]
    return [(round(255 * r), round(255 * g), round(255 * b)) for r, g, b in shades]


def read_utf8(path: Path) -> str:
    """The text of a file in UTF-8; ValueError, which names the file, where it is in another encoding."""
    try:
        text = check_regular(path).read_text(encoding="utf-8-sig")  # editors may begin it with a mark
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16 without a mark passes for UTF-8 with zeros
        raise ValueError(f"{path} is not UTF-8 text: save it in that encoding")
    return text


def _parse(words: list[str], place: str) -> ClassEntry:
    """The class that the words of a line describe; errors name its `place`."""
    numbers = [word.isdecimal() for word in words]
    coloured = len(words) >= 5 and all(numbers[-3:])
    unfinished = len(words) > 2 and all(numbers[-2:]) and not coloured  # one number may end a name, as in "car 2"
    if not numbers[0] or len(words) < 2 or unfinished:
        raise ValueError(f"{place}: expected 'index name [R G B]', got {' '.join(words)!r}")
    name = " ".join(words[1:-3] if coloured else words[1:])
    if COLOUR_IN_NAME.search(name):
        raise ValueError(
            f"{place}: expected 'index name [R G B]' with only spaces between the numbers, got {' '.join(words)!r}"
        )
    if int(words[0]) > MAX_INDEX:
        raise ValueError(f"{place}: an index must be at most {MAX_INDEX}, got {words[0]}")
    colour = None
    if coloured:
        r, g, b = (int(word) for word in words[-3:])
        if max(r, g, b) > 255:
            raise ValueError(f"{place}: a colour must be three numbers up to 255, got {(r, g, b)}")
        colour = (r, g, b)
    return ClassEntry(int(words[0]), name, colour)


def _code(colours: NDArray[np.int64]) -> NDArray[np.int64]:
    return (colours[..., 0] << 16) | (colours[..., 1] << 8) | colours[..., 2]
