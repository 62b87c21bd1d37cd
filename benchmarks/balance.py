"""How much rare classes count: the default beside others, with bags of words and few hundred regions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import numpy as np
import torch
from numpy.typing import NDArray

from neuralfactors.datasets import ImageFolder, make_scenes
from neuralfactors.segmentation import Segmenter, evaluate
from neuralfactors.segmentation._labelled_images import ArraySample, to_samples

BALANCES = (0.0, 0.5)
# Classes of SIFT Flow that pictures of street fronts are made of; all others are void in them.
FRONTS = {
    "sky": ("sky",), "building": ("building",), "window": ("window",), "door": ("door",), "car": ("car", "bus"),
    "road": ("road", "crosswalk"), "sidewalk": ("sidewalk",), "plants": ("tree", "plant", "grass"),
}  # fmt: skip
MOSTLY, WALL, WINDOWS = 0.9, 0.35, 0.02  # least shares of a front: of these classes, of walls, of windows
DRAW = 500  # seed of the order in which images are taken
SETS = {"fronts": (60, 60), "msrc21": (60, 40), "siftflow": (60, 40)}  # images to learn from and to judge by


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


def images_of(name: str) -> tuple[list[Any], list[Any], list[str]]:
    """What to learn from, what to judge by, and the names of the classes; training images only."""
    root = Path(os.environ.get("NEURALFACTORS_DATA", "data"))
    folder = ImageFolder(root / ("siftflow" if name == "fronts" else name))
    samples, names = folder["train"], folder.classes.names
    chosen = fronts(samples, names) if name == "fronts" else samples
    n_train, n_held = SETS[name]
    order = np.random.default_rng(DRAW).permutation(len(chosen))[: n_train + n_held].tolist()
    found = [chosen[n] for n in order]
    return found[:n_train], found[n_train:], list(FRONTS) if name == "fronts" else names


def compare(
    report: harness.Report, case: str, train: Sequence[Any], held: Sequence[Any], names: list[str], seeds: int
) -> None:
    samples, classes = to_samples([ArraySample(s.name, s.read_image(), s.read_labels()) for s in train], "", names)
    describer = Segmenter().describer(classes)
    graphs = describer.learn(samples), describer.describe(held)
    for balance in BALANCES:
        found = []
        for seed in range(seeds):
            scores = evaluate(Segmenter(balance=balance, random_state=seed).fit_graphs(describer, graphs[0]), graphs[1])
            found.append([scores.joint.pixel_accuracy, scores.joint.class_mean_accuracy])
        for measure, each in zip(("pixels", "class mean"), np.array(found).T, strict=True):
            report.measured(f"{case}, balance {balance}", measure, each.mean())
            report.measured(f"{case}, balance {balance}", f"{measure}, least of the seeds", each.min())


def measure(report: harness.Report, quick: bool, sets: str = ",".join(SETS), seeds: int = 3) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report.note("Accuracies are shares. Training images only, a part of which is held out; one thread.")
    if quick:
        scenes = [ArraySample(str(n), *scene) for n, scene in enumerate(make_scenes(4, shape=(48, 64)))]
        compare(report, "scenes", scenes[:3], scenes[3:], [str(n) for n in range(7)], 1)
        return
    for name in sets.split(","):
        compare(report, name, *images_of(name), seeds)


if __name__ == "__main__":
    options = {
        "sets": {"default": ",".join(SETS), "help": "their names, joined by commas"},
        "seeds": {"type": int, "default": 3, "help": "of training"},
    }
    harness.main("Balance of classes", measure, options)
