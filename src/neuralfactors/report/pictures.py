"""Examples as data URIs: the picture, and label maps in class colours that a script reads back pixel by pixel."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from neuralfactors.files import check_regular
from neuralfactors.report.run import ClassInfo, Example, Row, Run

LARGEST = 480  # pixels along the longer side
VOID_COLORS = ((20, 20, 24), (236, 236, 240), (128, 128, 128))
BASELINE, IMPROVED = "SGD", "int+nrl"  # the paper's pictures compare these two

Color = tuple[int, int, int]
Labels = NDArray[np.uint16]  # (H, W)


@dataclass(frozen=True)
class Layer:
    """A label map of an example: the truth or the prediction of a row."""

    key: str  # "truth" or a row's folder
    name: str
    uri: str
    accuracy: float | None  # in percent of the labelled pixels; None for the truth, or where nothing is labelled


@dataclass(frozen=True)
class Shown:
    """An example as the page shows it."""

    name: str
    size: tuple[int, int]  # width, height
    image: str  # data URI
    layers: tuple[Layer, ...]
    gain: float | None  # accuracy of the improved row minus that of the baseline, in points

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


def shown_examples(run: Run) -> list[Shown]:
    """The examples that can be read, from the largest gain to the largest loss."""
    colors = palette(run.classes)
    found = [shown for shown in (_show(example, run, colors) for example in run.examples) if shown]
    return sorted(found, key=lambda shown: -(shown.gain if shown.gain is not None else -1e9))


def _show(example: Example, run: Run, colors: list[Color]) -> Shown | None:
    try:
        image, size = _read_image(example.image)
        truth = _read_map(example.truth, size, len(run.classes))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        run.problems.append(f"the example {example.name} is left out: {_reason(error, run.folder)}")
        return None
    layers = [Layer("truth", "truth", _map_uri(truth, colors), None)]
    for row in run.rows:
        predicted = _prediction(example, row, size, run)
        if predicted is not None:
            layers.append(Layer(row.folder, row.name, _map_uri(predicted, colors), _accuracy(truth, predicted, run)))
    scores = {layer.key: layer.accuracy for layer in layers}
    before, after = scores.get(BASELINE), scores.get(IMPROVED)
    gain = None if before is None or after is None else after - before
    return Shown(example.name, size, image, tuple(layers), gain)


def _prediction(example: Example, row: Row, size: tuple[int, int], run: Run) -> Labels | None:
    path = row.predictions / f"{example.name}.png"
    if not path.resolve().is_relative_to(run.folder.resolve()):
        return None
    if not path.exists():
        if row.status == "done":
            run.problems.append(f"{path.relative_to(run.folder).as_posix()} is missing")
        return None
    try:
        return _read_map(path, size, len(run.classes))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        reason = _reason(error, run.folder)
        run.problems.append(f"the prediction of {row.name} for {example.name} is left out: {reason}")
        return None


def _read_image(path: Path) -> tuple[str, tuple[int, int]]:
    data = check_regular(path).read_bytes()
    with Image.open(io.BytesIO(data)) as opened:
        kind, picture = opened.format, opened.convert("RGB")
    if kind in ("JPEG", "PNG", "WEBP") and max(picture.size) <= LARGEST:
        return _uri(data, f"image/{kind.lower()}"), picture.size
    picture.thumbnail((LARGEST, LARGEST))
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=85)
    return _uri(written.getvalue(), "image/jpeg"), picture.size


def _read_map(path: Path, size: tuple[int, int], n_labels: int) -> Labels:
    """Labels of an index PNG, at the size of the picture; n_labels is void."""
    with Image.open(check_regular(path)) as opened:
        if opened.mode not in ("P", "L", "1", "I;16"):
            raise ValueError(f"{path.name} must be an index map of one channel, got the mode {opened.mode}")
        picture = opened.copy()
    across, down = size[0] / picture.width, size[1] / picture.height
    if abs(across - down) > 0.05 * max(across, down):
        raise ValueError(f"{path.name} is {picture.width}×{picture.height}, which is not the shape of the picture")
    if picture.size != size:
        picture = picture.resize(size, Image.Resampling.NEAREST)
    return np.minimum(np.asarray(picture, dtype=np.uint16), np.uint16(n_labels))


def _map_uri(labels: Labels, colors: list[Color]) -> str:
    if len(colors) > 256:  # no palette holds them
        picture = Image.fromarray(np.array(colors, dtype=np.uint8)[labels])
    else:
        picture = Image.fromarray(labels.astype(np.uint8))
        picture.putpalette([value for color in colors for value in color])
    written = io.BytesIO()
    picture.save(written, "PNG", optimize=True)
    return _uri(written.getvalue(), "image/png")


def _accuracy(truth: Labels, predicted: Labels, run: Run) -> float | None:
    counted = truth < len(run.classes)
    return 100.0 * float((truth == predicted)[counted].mean()) if counted.any() else None


def _uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _reason(error: BaseException, folder: Path) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{Path(error.filename).relative_to(folder).as_posix()} is missing"
    return str(error).replace(f"{folder}/", "") or type(error).__name__
