"""Few labelled images: joint prediction beside a unary network and a random forest with the same CNN features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import context
import harness
import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier

from neuralfactors.datasets import make_scenes
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Describer, LabelledGraphs
from neuralfactors.segmentation._targets import Targets

NUMBERS, HELD = (2, 5, 10, 20), 20  # images to learn from, and to judge by
TREES = 100
LEARNERS = ("forest", "unary", "joint")


def forest(describer: Describer, train: LabelledGraphs, held: LabelledGraphs, seed: int) -> Scores:
    """A random forest on the regions, weighed by area and class as the networks are."""
    weight = Targets().of(train, describer.n_labels).class_weight
    pairs = list(zip(train.X, train.Y, strict=True))
    X, y, area = (
        np.concatenate(part)
        for part in zip(*((g.node_features[y >= 0], y[y >= 0], g.node_weight[y >= 0]) for g, y in pairs), strict=True)
    )
    trees = RandomForestClassifier(TREES, n_jobs=1, random_state=seed)
    trees.fit(X, y, sample_weight=area if weight is None else area * weight[y])
    n_labels = describer.n_labels
    counts = [t.confusion(trees.predict(g.node_features), n_labels) for t, g in zip(held.truth, held.X, strict=True)]
    return Scores(np.sum(counts, axis=0))


def learn(train: Sequence[Any], held: Sequence[Any], seed: int, regions: int) -> dict[str, list[float]]:
    """Pixel and class-mean accuracy of each learner, all with the same CNN features of so many regions."""
    graphs = context.described(context.FeatureSettings("cnn", n_regions=regions), train, held)
    return {
        "forest": context.figures(forest(*graphs, seed)),
        "unary": context.figures(context.fitted(context.unary_network(len(train)), *graphs, seed)),
        "joint": context.figures(context.fitted(None, *graphs, seed)),
    }


def tell(report: harness.Report, case: str, draws: Sequence[dict[str, list[float]]], regions: int) -> None:
    report.measured(case, "draws", len(draws))
    report.measured(case, "held", HELD)
    report.measured(case, "regions", regions)
    for k, measure in enumerate(("pixels", "class mean")):
        values = {name: np.array([draw[name][k] for draw in draws]) for name in LEARNERS}
        for name, each in values.items():
            report.measured(case, f"{name}, {measure}", each.mean())
        gains = values["joint"] - values["unary"]
        report.at_least(case, f"joint less unary, {measure}", gains.mean(), context.GAIN_OVER_UNARY[k])
        report.measured(case, f"joint less unary, {measure}, worst draw", gains.min())


def piece(name: str, number: int, draw: int, regions: int) -> dict[str, list[float]]:
    """Figures with so many labelled images of one draw, whose first they are."""
    train, held = context.unseen(name, draw)
    return learn(train[:number], held[:HELD], draw, regions)


def measure(
    report: harness.Report,
    quick: bool,
    draws: int = 5,
    sets: str = "kitti",
    regions: int = 0,
    record: Path | None = None,
) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report.note("Training images only, of which none was looked at to choose a default; one thread.")
    if quick:
        scenes = make_scenes(4, random_state=1)
        tell(report, "scenes, 2 images", [learn(scenes[:2], scenes[2:], 0, regions)], regions)
        return
    kept = harness.Kept(record)
    for name in sets.split(","):
        found = [
            [kept(f"{name} {n} {draw} {regions}", partial(piece, name, n, draw, regions)) for n in NUMBERS]
            for draw in range(draws)
        ]
        for number, each in zip(NUMBERS, zip(*found, strict=True), strict=True):
            tell(report, f"{name}, {number} images", each, regions)


if __name__ == "__main__":
    options = {
        "draws": {"type": int, "default": 5, "help": "of each number of images"},
        "sets": {"default": "kitti", "help": "names of public sets, joined by commas"},
        "regions": {"type": int, "default": 0, "help": "of an image; 0: chosen by the labels, as by default"},
        "record": {"type": Path, "help": "file of what each draw found; what is there is not computed again"},
    }
    harness.main("Few labelled images", measure, options)
