"""A dozen small pictures in the run folder, with their truth and the rows' predictions, for reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from neuralfactors.datasets import write_image, write_label_map
from neuralfactors.experiment.folder import write_json
from neuralfactors.segmentation import LabelledGraphs, Segmenter

MAX_SIDE = 400
VOID_INDICES = (255, 65535)  # of pixels without label, in 8 and 16 bits; the others have the number of their class
EXAMPLES_FILE = "examples.json"


def write_examples(folder: Path, graphs: LabelledGraphs, palette: NDArray[np.uint8], n_examples: int) -> None:
    """Copy `n_examples` of the images, at equal distances in the split, and their label maps into `folder`."""
    (folder / "examples").mkdir(parents=True, exist_ok=True)
    listed = []
    for n in chosen(len(graphs.samples), n_examples):
        sample = graphs.samples[n]
        image = np.asarray(_small(sample.read_image(), Image.Resampling.LANCZOS))
        files = {"image": f"examples/{sample.name}.jpg", "truth": f"examples/{sample.name}.png"}
        write_image(folder / files["image"], image)
        _write_map(folder / files["truth"], sample.read_labels(), palette)
        listed.append({"name": sample.name, **files})
    write_json(folder / EXAMPLES_FILE, {"images": listed})


def write_predictions(place: Path, segmenter: Segmenter, graphs: LabelledGraphs, n_examples: int) -> None:
    """Write the predictions for the images that `write_examples` has copied into the folder `place`."""
    palette = segmenter.describer_.classes.palette
    place.mkdir(parents=True, exist_ok=True)
    for n in chosen(len(graphs.samples), n_examples):
        labels = segmenter.label_graph(graphs.X[n])
        _write_map(place / f"{graphs.samples[n].name}.png", graphs.images[n].paint(labels), palette)


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
