"""What the defaults for CNN features gain over the former ones, and joint prediction over the unary network.

Draws of training images of the public sets that no default was chosen on, a part of each held out; and the same with 2
to 20 labelled images.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import torch

from neuralfactors.datasets import ImageFolder, make_scenes
from neuralfactors.estimators import StructuralSVM, UnaryClassifier
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Describer, LabelledGraphs, Segmenter, default_parameters, evaluate
from neuralfactors.segmentation._defaults import WITH_CNN
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.vision import FeatureSettings

# The split, classes left out, how many images to learn from and to judge by, and the draw that chose the defaults.
SETS: dict[str, tuple[str, list[str], int, int, int]] = {
    "msrc21": ("train", ["horse", "mountain"], 60, 40, 90),
    "kitti": ("train_paperlike149", ["sign", "pedestrian", "cyclist"], 50, 30, 60),
    "siftflow": ("train", [], 60, 40, 90),
}
CHOSEN_BY = 7  # seed of the order whose first images the defaults were chosen on
UNARY_STEPS = 900  # of the unary network: as many as the joint model has, before and after interactions come in
GAIN_OVER_UNARY, GAIN_OVER_FORMER = (0.01, 0.02), (0.003, 0.005)
# The defaults before: SLIC regions, the paper's edges, all factors trained under the hinge from the 300th step on.
FORMER: dict[str, Any] = {
    "C": 3.0, "max_iter": 16, "void": "drop", "trainer__keep": "last",
    "trainer__learning_rate": 0.001, "trainer__interaction_learning_rate": 0.001,
    "unary__activation": "relu", "unary__dropout": 0.5,
    "interaction__hidden": (64,), "interaction__activation": "relu", "interaction__dropout": 0.5,
}  # fmt: skip


def unseen(name: str, draw: int) -> tuple[list[Any], list[Any]]:
    """Samples to learn from and to judge by, none of which the defaults were chosen on."""
    split, drop, n_train, n_held, n_chosen_by = SETS[name]
    samples = ImageFolder(folder(name), drop=drop)[split]
    rest = np.random.default_rng(CHOSEN_BY).permutation(len(samples))[n_chosen_by:]
    order = np.random.default_rng(1000 + draw).permutation(rest)[: n_train + n_held].tolist()
    return [samples[n] for n in order[:n_train]], [samples[n] for n in order[n_train:]]


def folder(name: str) -> Path:
    return Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / name


def unary_network(n_images: int) -> UnaryClassifier:
    """The unary factor of the joint model, trained alone for as many steps."""
    known = UnaryClassifier().plain_params().keys()
    chosen = default_parameters(n_images, WITH_CNN, cnn=True)
    shared = {name: value for name, value in chosen.items() if name in known and "pretrain" not in name}
    steps = -(-n_images // chosen["batch_size"])
    rate = chosen["trainer__pretrain_learning_rate"]
    shared |= {"max_iter": -(-UNARY_STEPS // steps), "trainer__learning_rate": rate}
    return UnaryClassifier((256,)).set_params(**shared)


def former_model(n_images: int) -> StructuralSVM:
    size = default_parameters(n_images, WITH_CNN, cnn=True)["batch_size"]
    pretrain = -(-300 // -(-n_images // size))
    return StructuralSVM().set_params(**FORMER, batch_size=size, trainer__pretrain=pretrain)


def described(
    settings: FeatureSettings, train: Sequence[Any], held: Sequence[Any]
) -> tuple[Describer, LabelledGraphs, LabelledGraphs]:
    samples, classes = to_samples(train, "train")
    describer = Describer(settings, classes, cache=harness.CACHE)
    return describer, describer.learn(samples), describer.describe(to_samples(held, "train")[0])


def fitted(estimator: Any, describer: Describer, train: LabelledGraphs, held: LabelledGraphs, seed: int) -> Scores:
    segmenter = Segmenter(describer.builder.settings, estimator=estimator, random_state=seed)
    return evaluate(segmenter.fit_graphs(describer, train), held).joint


def compare(train: Sequence[Any], held: Sequence[Any], seed: int, regions: int = 0) -> dict[str, list[float]]:
    """Figures of the former default, of the unary network and of the default, with seconds of CPU."""
    n, found = len(train), {}
    before = described(FeatureSettings("cnn", n_regions=regions or 1000, boundaries=False), train, held)
    after = described(FeatureSettings("cnn", n_regions=regions), train, held)
    runs = {"former": (former_model(n), before), "unary": (unary_network(n), after), "joint": (None, after)}
    for name, (estimator, graphs) in runs.items():
        start = time.process_time()
        found[name] = [*figures(fitted(estimator, *graphs, seed)), time.process_time() - start]
    return found


def piece(name: str, draw: int, regions: int) -> dict[str, list[float]]:
    return compare(*unseen(name, draw), draw, regions)


def figures(scores: Scores) -> list[float]:
    return [scores.pixel_accuracy, scores.class_mean_accuracy]


def tell(report: harness.Report, case: str, draws: Sequence[Mapping[str, Sequence[float]]]) -> None:
    """Rows of a set: means over its draws, and the gains with their targets and their worst draw."""
    values = {name: np.array([draw[name] for draw in draws]) for name in draws[0]}
    for name, each in values.items():
        for k, measure in enumerate(("pixels", "class mean", "seconds")):
            report.measured(case, f"{name}, {measure}", each[:, k].mean())
    for rival, targets in (("unary", GAIN_OVER_UNARY), ("former", GAIN_OVER_FORMER)):
        gains = values["joint"] - values[rival]
        for k, measure in enumerate(("pixels", "class mean")):
            report.at_least(case, f"joint less {rival}, {measure}", gains[:, k].mean(), targets[k])
            report.measured(case, f"joint less {rival}, {measure}, worst draw", gains[:, k].min())


def measure(
    report: harness.Report,
    quick: bool,
    draws: int = 3,
    sets: str = ",".join(SETS),
    regions: int = 0,
    record: Path | None = None,
) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report.note("Accuracies are shares. Training images only, a part of which is held out; one thread.")
    if quick:
        scenes = make_scenes(6, random_state=1)
        tell(report, "scenes", [compare(scenes[:4], scenes[4:], 0)])
        return
    kept = harness.Kept(record)
    for name in sets.split(","):
        _, _, n_train, n_held, _ = SETS[name]
        if not folder(name).is_dir():
            report.note(f"{folder(name)} is absent and left out.")
            continue
        found = [kept(f"{name} {draw} {regions}", partial(piece, name, draw, regions)) for draw in range(draws)]
        case = f"{name}, {n_train} → {n_held}"
        report.measured(case, "draws", draws)
        report.measured(case, "regions", regions)
        tell(report, case, found)


if __name__ == "__main__":
    options = {
        "draws": {"type": int, "default": 3, "help": "of each set"},
        "sets": {"default": ",".join(SETS), "help": "names of public sets, joined by commas"},
        "regions": {"type": int, "default": 0, "help": "of an image; 0: chosen by the labels, as by default"},
        "record": {"type": Path, "help": "file of what each draw found; what is there is not computed again"},
    }
    harness.main("Context", measure, options)
