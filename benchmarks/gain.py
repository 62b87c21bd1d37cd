"""What context is worth: joint prediction against a random forest and a network that see every region by itself.

All three learn from the same CNN features of the same regions, weighed by area and class alike; on MSRC-21, from its
training images to its validation images, and on synthetic scenes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import harness
import numpy as np
from context import unary_network
from harness import CACHE, Report
from sklearn.ensemble import RandomForestClassifier

from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.estimators import UnaryClassifier
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Describer, LabelledGraphs, Segmenter, evaluate
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import FeatureSettings

SEEDS, TREES, SCENES = 3, 100, 60
MEASURES = {"pixels": lambda scores: scores.pixel_accuracy, "classes": lambda scores: scores.class_mean_accuracy}

Learner = Callable[[Describer, LabelledGraphs, LabelledGraphs, int], Scores]


def forest(describer: Describer, train: LabelledGraphs, test: LabelledGraphs, seed: int) -> Scores:
    """A random forest on the regions; each of its trees sees a quarter of them, which loses nothing and saves hours."""
    weight = Targets().of(train, describer.n_labels).class_weight
    rows = [(graph.node_features[y >= 0], y[y >= 0], graph.node_weight[y >= 0]) for graph, y in pairs(train)]
    X, y, area = (np.concatenate(part) for part in zip(*rows, strict=True))
    trees = RandomForestClassifier(TREES, max_samples=0.25, n_jobs=-1, random_state=seed)
    trees.fit(X, y, sample_weight=area if weight is None else area * weight[y])
    painted = (
        (sample.read_labels(), image.paint(trees.predict(graph.node_features)))
        for sample, image, graph in zip(test.samples, test.images, test.X, strict=True)
    )
    return Scores.of(painted, describer.n_labels)


def network(describer: Describer, train: LabelledGraphs, test: LabelledGraphs, seed: int) -> Scores:
    """The unary network of the joint model, with its dropout and all else, trained by cross-entropy."""
    return fitted(unary_network(len(train.X)), describer, train, test, seed)


def joint(describer: Describer, train: LabelledGraphs, test: LabelledGraphs, seed: int) -> Scores:
    """The default model: what ``neuralfactors train --features cnn`` gives."""
    return fitted(None, describer, train, test, seed)


def fitted(
    estimator: UnaryClassifier | None, describer: Describer, train: LabelledGraphs, test: LabelledGraphs, seed: int
) -> Scores:
    segmenter = Segmenter(estimator=estimator, random_state=seed)
    return evaluate(segmenter.fit_graphs(describer, train), test).joint


def pairs(graphs: LabelledGraphs) -> zip:
    return zip(graphs.X, graphs.Y, strict=True)


LEARNERS: dict[str, Learner] = {"random forest": forest, "unary network": network, "joint": joint}


def compare(report: Report, case: str, data: ImageFolder, test_split: str, n_seeds: int, cache: Path | None) -> None:
    describer = Describer(FeatureSettings("cnn"), data.classes, cache=cache)
    train, test = describer.learn(data["train"]), describer.describe(data[test_split])
    found = {name: [learn(describer, train, test, seed) for seed in range(n_seeds)] for name, learn in LEARNERS.items()}
    for measure, of in MEASURES.items():
        figures = {name: np.array([100 * of(scores) for scores in runs]) for name, runs in found.items()}
        for name, values in figures.items():
            report.measured(case, f"{measure}, {name}, %", values.mean())
            report.measured(case, f"{measure}, {name}, range over seeds", np.ptp(values))
        for name in ("random forest", "unary network"):
            report.at_least(case, f"{measure}, joint less {name}", (figures["joint"] - figures[name]).mean(), 0.01)
            report.measured(case, f"{measure}, joint less {name}, worst seed", (figures["joint"] - figures[name]).min())


def measure(report: Report, quick: bool) -> None:
    """Scenes first, which take minutes; MSRC-21 takes an hour of one core."""
    n_seeds = 1 if quick else SEEDS
    with tempfile.TemporaryDirectory() as folder:
        scenes = ImageFolder(write_scenes(folder, 10 if quick else SCENES))
        compare(report, "scenes", scenes, "val+test", n_seeds, None)
    root = Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "msrc21"
    if quick or not root.is_dir():
        report.note("MSRC-21 was left out: " + ("a quick run." if quick else f"{root} is absent."))
    else:
        compare(report, "MSRC-21, train → val", ImageFolder(root, drop=["horse", "mountain"]), "val", n_seeds, CACHE)
    report.note(f"Means over {n_seeds} seeds of the learners, with the same features; joint is the default model.")
    report.note("The defaults were chosen by cross-validation within MSRC-21's training and validation images.")


if __name__ == "__main__":
    harness.main("Gain of joint prediction, CNN features", measure)
