"""A dozen small pictures in the run folder, with their truth and the rows' predictions, for reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from neuralfactors._runs import RowFolder, RunFolder
from neuralfactors._runs.records import Examples
from neuralfactors.datasets import write_image, write_label_map
from neuralfactors.segmentation import Evaluation, LabelledGraphs
from neuralfactors.vision._channels import rgb_of

MAX_SIDE = 400
VOID_INDICES = (255, 65535)  # of pixels without label, in 8 and 16 bits; the others have the number of their class


def write_examples(folder: RunFolder, graphs: LabelledGraphs, palette: NDArray[np.uint8], n_examples: int) -> None:
    """Copy `n_examples` of the images, at equal distances in the split, and their label maps into `folder`."""
    samples = [graphs.samples[n] for n in chosen(len(graphs.samples), n_examples)]
    for sample in samples:
        path = folder.example_image(sample.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_image(path, np.asarray(_small(rgb_of(sample.read_image()), Image.Resampling.LANCZOS)))
        _write_map(folder.example_truth(sample.name), sample.read_labels(), palette)
    folder.examples.write(Examples(tuple(sample.name for sample in samples)))


def write_predictions(folder: RowFolder, found: Evaluation, graphs: LabelledGraphs, palette: NDArray[np.uint8]) -> None:
    """Write the label maps that were kept of an evaluation."""
    for n, painted in found.maps.items():
        path = folder.prediction(graphs.samples[n].name)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_map(path, painted, palette)


def chosen(n_images: int, n_examples: int) -> list[int]:
    """Numbers of at most `n_examples` images, at equal distances."""
    n = min(n_images, n_examples)
    return [int(k * n_images / n) for k in range(n)]


def _write_map(path: Path, labels: NDArray[np.int64], palette: NDArray[np.uint8]) -> None:
    colours = np.zeros((256, 3), dtype=np.uint8)
    colours[: len(palette)] = palette[: len(colours)]
    void = VOID_INDICES[len(palette) > VOID_INDICES[0]]
    indices = np.where(labels < 0, void, labels).astype(np.uint16)
    write_label_map(path, np.asarray(_small(indices, Image.Resampling.NEAREST)), colours)


def _small(values: NDArray[np.uint8] | NDArray[np.uint16], method: Image.Resampling) -> Image.Image:
    picture = Image.fromarray(values)
    share = MAX_SIDE / max(picture.size)
    if share >= 1:
        return picture
    width, height = (max(1, round(share * n)) for n in picture.size)
    return picture.resize((width, height), method)
