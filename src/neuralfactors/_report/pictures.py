"""Examples as data URIs: the picture, and label maps in class colours that a script reads back pixel by pixel."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from neuralfactors._common.files import check_regular
from neuralfactors._report.results import RowResults, RunResults
from neuralfactors._runs import USUAL, ClassInfo
from neuralfactors._runs.names import BASELINE

LARGEST = 480  # pixels along the longer side
VOID_COLORS = ((20, 20, 24), (236, 236, 240), (128, 128, 128))

Color = tuple[int, int, int]
Labels = NDArray[np.uint16]  # (H, W)


@dataclass(frozen=True)
class Layer:
    """A label map of an example: the truth or the prediction of a row."""

    key: str  # "truth" or a variant
    name: str
    uri: str
    accuracy: float | None  # share of the labelled pixels; None for the truth, or where nothing is labelled


@dataclass(frozen=True)
class Shown:
    """An example as the page shows it."""

    name: str
    size: tuple[int, int]  # width, height
    image: str  # data URI
    layers: tuple[Layer, ...]
    gain: float | None  # accuracy of int+nrl minus that of SGD, the two that the paper's pictures compare

    def layer(self, key: str) -> Layer | None:
        """The layer of that key, if the example has it."""
        return next((layer for layer in self.layers if layer.key == key), None)


def palette(classes: Sequence[ClassInfo]) -> list[Color]:
    """Colour of each label, and last of void; those that occur twice are changed a little, so that each names one."""
    taken = np.array([info.color for info in classes]).reshape(-1, 3)
    void = max(VOID_COLORS, key=lambda color: np.abs(taken - color).sum(axis=1).min(initial=1000))
    chosen: dict[Color, None] = {}
    for color in [*(info.color for info in classes), void]:
        while color in chosen:
            color = _next(color)
        chosen[color] = None
    return list(chosen)


def _next(color: Color) -> Color:
    code = (color[0] << 16 | color[1] << 8 | color[2]) + 1
    return (code >> 16 & 255, code >> 8 & 255, code & 255)


def shown_examples(results: RunResults) -> list[Shown]:
    """The examples that can be read, from the largest gain to the largest loss."""
    colors = palette(results.run.classes)
    found = [shown for name in results.examples if (shown := _show(name, results, colors))]
    return sorted(found, key=lambda shown: -(shown.gain if shown.gain is not None else -1e9))


def _show(name: str, results: RunResults, colors: list[Color]) -> Shown | None:
    """An example with its true labels and what every row predicts; None where its picture cannot be read."""
    folder, n_labels = results.folder, len(results.run.classes)

    def read() -> tuple[str, tuple[int, int], Labels]:
        image, size = _read_image(_inside(folder.example_image(name), folder.path))
        return image, size, _read_map(_inside(folder.example_truth(name), folder.path), size, n_labels)

    found = results.attempt(read, f"the example {name} was left out: ")
    if not found:
        return None
    image, size, truth = found
    layers = [Layer("truth", "truth", _map_uri(truth, colors), None)]
    for row in results.rows:
        predicted = _prediction(name, row, size, results)
        if predicted is not None:
            accuracy = _accuracy(truth, predicted, n_labels)
            layers.append(Layer(row.variant.key, row.variant.printed, _map_uri(predicted, colors), accuracy))
    scores = {layer.key: layer.accuracy for layer in layers}
    before, after = scores.get(BASELINE), scores.get(USUAL)
    gain = None if before is None or after is None else after - before
    return Shown(name, size, image, tuple(layers), gain)


def _prediction(name: str, row: RowResults, size: tuple[int, int], results: RunResults) -> Labels | None:
    path = row.folder.prediction(name)
    if row.row.status != "done" and not path.exists():
        return None
    what = f"the prediction of {row.variant.printed} for {name} was left out: "
    return results.attempt(lambda: _read_map(_inside(path, row.folder.path), size, len(results.run.classes)), what)


def _inside(path: Path, folder: Path) -> Path:
    """`path`, refused if it links outside `folder`: a page must not show other files."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{path} is outside the run folder")
    return path


def _read_image(path: Path) -> tuple[str, tuple[int, int]]:
    """A picture as a data URI, reduced where it is large, and its size."""
    data = check_regular(path).read_bytes()
    with _readable(path), Image.open(io.BytesIO(data)) as opened:
        kind, picture = opened.format, opened.convert("RGB")
    if kind in ("JPEG", "PNG", "WEBP") and max(picture.size) <= LARGEST:
        return _uri(data, f"image/{kind.lower()}"), picture.size
    picture.thumbnail((LARGEST, LARGEST))
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=85)
    return _uri(written.getvalue(), "image/jpeg"), picture.size


def _read_map(path: Path, size: tuple[int, int], n_labels: int) -> Labels:
    """Labels of an index PNG, at the size of the picture; n_labels is void."""
    with _readable(path), Image.open(check_regular(path)) as opened:
        if opened.mode not in ("P", "L", "1", "I;16"):
            raise ValueError(f"{path.name} must be an index map of one channel, got the mode {opened.mode}")
        picture = opened.copy()
    across, down = size[0] / picture.width, size[1] / picture.height
    if abs(across - down) > 0.05 * max(across, down):
        raise ValueError(f"{path.name} is {picture.width}×{picture.height}, which is not the picture's size")
    if picture.size != size:
        picture = picture.resize(size, Image.Resampling.NEAREST)
    return np.minimum(np.asarray(picture, dtype=np.uint16), np.uint16(n_labels))


def _map_uri(labels: Labels, colors: list[Color]) -> str:
    """A label map in its colours as a data URI."""
    if len(colors) > 256:  # no palette holds them
        picture = Image.fromarray(np.array(colors, dtype=np.uint8)[labels])
    else:
        picture = Image.fromarray(labels.astype(np.uint8))
        picture.putpalette([value for color in colors for value in color])
    written = io.BytesIO()
    picture.save(written, "PNG", optimize=True)
    return _uri(written.getvalue(), "image/png")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Pillow's own errors, of which some are neither OSError nor ValueError, as ValueError."""
    try:
        yield
    except (SyntaxError, Image.DecompressionBombError, UnidentifiedImageError) as error:
        raise ValueError(f"{path} could not be read as a picture: {error}") from error


def _accuracy(truth: Labels, predicted: Labels, n_labels: int) -> float | None:
    counted = truth < n_labels
    return float((truth == predicted)[counted].mean()) if counted.any() else None


def _uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
