"""How much rare classes count: the default beside others, with bags of words and few hundred regions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import torch
from numpy.typing import NDArray

from neuralfactors.datasets import ImageFolder, make_scenes
from neuralfactors.segmentation import Segmenter, evaluate
from neuralfactors.segmentation._labelled_images import ArraySample, to_samples
from neuralfactors.vision import FeatureSettings

BALANCES = (0.0, 0.25, 0.5, None)  # None: the default
# Classes of SIFT Flow that pictures of street fronts are made of; all others are void in them.
FRONTS = {
    "sky": ("sky",), "building": ("building",), "window": ("window",), "door": ("door",), "car": ("car", "bus"),
    "road": ("road", "crosswalk"), "sidewalk": ("sidewalk",), "plants": ("tree", "plant", "grass"),
}  # fmt: skip
MOSTLY, WALL, WINDOWS = 0.9, 0.35, 0.02  # least shares of a front: of these classes, of walls, of windows
DRAW = 7000  # seed of the order in which images are taken, the first of several
# The split, classes left out, images to learn from and to judge by, and regions; 0: chosen by the labels.
SETS: dict[str, tuple[str, list[str], int, int, int]] = {
    "fronts": ("train", [], 60, 60, 0),
    "msrc21": ("train", ["horse", "mountain"], 60, 40, 0),
    "siftflow": ("train", [], 60, 40, 0),
    "kitti": ("train_paperlike149", ["sign", "pedestrian", "cyclist"], 40, 20, 600),
}


@dataclass(frozen=True)
class Reduced:
    """A labelled image with fewer classes."""

    sample: Any
    table: NDArray[np.int64]  # label of each label, the last for void

    @property
    def name(self) -> str:
        return str(self.sample.name)

    def read_image(self) -> NDArray[Any]:
        return np.asarray(self.sample.read_image())

    def read_labels(self) -> NDArray[np.int64]:
        return np.asarray(self.table[self.sample.read_labels()])


def fronts(samples: Sequence[Any], names: Sequence[str]) -> list[Reduced]:
    """Those of the images of SIFT Flow that are fronts of houses, with the labels of `FRONTS`."""
    label_of = {name: label for label, several in enumerate(FRONTS.values()) for name in several}
    reduced = [Reduced(sample, np.array([*(label_of.get(name, -1) for name in names), -1])) for sample in samples]
    wall, window = list(FRONTS).index("building"), list(FRONTS).index("window")

    def is_front(each: Reduced) -> bool:
        share = np.bincount(each.read_labels().ravel() + 1, minlength=len(FRONTS) + 1)[1:] / each.read_labels().size
        return bool(share.sum() > MOSTLY and share[wall] + share[window] > WALL and share[window] > WINDOWS)

    return [each for each in reduced if is_front(each)]


def images_of(name: str, draw: int) -> tuple[list[Any], list[Any], list[str]]:
    """What to learn from, what to judge by, and the names of the classes; training images only."""
    root = Path(os.environ.get("NEURALFACTORS_DATA", "data"))
    split, drop, n_train, n_held, _ = SETS[name]
    folder = ImageFolder(root / ("siftflow" if name == "fronts" else name), drop=drop)
    samples, names = folder[split], folder.classes.names
    chosen = fronts(samples, names) if name == "fronts" else samples
    order = np.random.default_rng(DRAW + draw).permutation(len(chosen))[: n_train + n_held].tolist()
    found = [chosen[n] for n in order]
    return found[:n_train], found[n_train:], list(FRONTS) if name == "fronts" else names


def judged(train: Sequence[Any], held: Sequence[Any], names: list[str], regions: int, seed: int) -> list[list[float]]:
    """Accuracy by pixels and by classes on `held` for each balance."""
    samples, classes = to_samples([ArraySample(s.name, s.read_image(), s.read_labels()) for s in train], "", names)
    describer = Segmenter(FeatureSettings(n_regions=regions)).describer(classes)
    graphs = describer.learn(samples), describer.describe(held)
    fits = (Segmenter(balance=each, random_state=seed).fit_graphs(describer, graphs[0]) for each in BALANCES)
    found = (evaluate(fit, graphs[1]).joint for fit in fits)
    return [[scores.pixel_accuracy, scores.class_mean_accuracy] for scores in found]


def tell(report: harness.Report, case: str, draws: Sequence[list[list[float]]]) -> None:
    """Rows of a set: means over its draws, and the least of them."""
    for balance, values in zip(BALANCES, np.array(draws).transpose(1, 2, 0), strict=True):
        name = f"{case}, {'default' if balance is None else f'balance {balance}'}"
        for measure, each in zip(("pixels", "class mean"), values, strict=True):
            report.measured(name, measure, each.mean())
            report.measured(name, f"{measure}, least of the draws", each.min())


def measure(
    report: harness.Report, quick: bool, sets: str = ",".join(SETS), draws: int = 2, record: Path | None = None
) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report.note("Accuracies are shares. Training images only, a part of which is held out; one thread.")
    if quick:
        scenes = [ArraySample(str(n), *scene) for n, scene in enumerate(make_scenes(4, shape=(48, 64)))]
        tell(report, "scenes", [judged(scenes[:3], scenes[3:], [str(n) for n in range(7)], 0, 0)])
        return
    kept = harness.Kept(record)
    for name in sets.split(","):
        pieces = {f"{name} {n}": partial(piece, name, n) for n in range(draws)}
        tell(report, name, [kept(key, compute) for key, compute in pieces.items()])


def piece(name: str, draw: int) -> list[list[float]]:
    return judged(*images_of(name, draw), SETS[name][-1], draw)


if __name__ == "__main__":
    options = {
        "sets": {"default": ",".join(SETS), "help": "their names, joined by commas"},
        "draws": {"type": int, "default": 2, "help": "of images, each with a seed of its own"},
        "record": {"type": Path, "help": "file of what each draw found; what is there is not computed again"},
    }
    harness.main("Balance of classes", measure, options)
