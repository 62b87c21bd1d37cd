"""Label maps that are mostly void: accuracy against the share of regions that are labelled, and against clicks.

A click labels the region that it falls into. Models learn from training images of MSRC-21 and are judged by its
validation images; the generated scenes have a split of their own. Test images are not used.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np
from gain import MEASURES
from harness import CACHE, Report
from numpy.typing import NDArray

from neuralfactors.datasets import SCENE_CLASSES, ImageFolder, make_scenes
from neuralfactors.datasets._classes import Classes
from neuralfactors.estimators import UnaryClassifier
from neuralfactors.segmentation import Describer, LabelledGraphs, Segmenter, evaluate
from neuralfactors.segmentation._defaults import default_parameters
from neuralfactors.segmentation._graphs import RegionTruth
from neuralfactors.segmentation._labelled_images import LabelledImage, to_samples
from neuralfactors.vision import FeatureSettings

SHARES, CLICKS = (0.001, 0.01, 0.1, 1.0), (1, 3, 10)
PHOTOGRAPHS, SCENES = 23, 60
SETS = ("scenes", "msrc21")
Draw = Callable[[RegionTruth, np.random.Generator], RegionTruth]


def by_share(share: float) -> Draw:
    """What is known of a share of the regions, drawn at random: all their pixels."""
    return lambda truth, rng: kept(truth, (rng.random(len(truth.y)) < share)[truth.node])


def by_clicks(n_clicks: int) -> Draw:
    """What so many clicks on labelled pixels say of the regions that they fall into."""

    def draw(truth: RegionTruth, rng: np.random.Generator) -> RegionTruth:
        hit = np.zeros(len(truth.node), dtype=bool)
        if len(hit):
            hit[rng.choice(len(hit), n_clicks, p=truth.n_pixels / truth.n_pixels.sum())] = True
        return kept(truth, hit)

    return draw


def kept(truth: RegionTruth, rows: NDArray[np.bool_]) -> RegionTruth:
    """The truth with these of its rows only."""
    labelled = np.isin(np.arange(len(truth.y)), truth.node[rows])
    return RegionTruth(np.where(labelled, truth.y, -1), truth.node[rows], truth.label[rows], truth.n_pixels[rows])


BUDGETS: dict[str, Draw] = {f"{100 * share:g} % of regions": by_share(share) for share in SHARES}
BUDGETS |= {f"{n} click{'s' * (n > 1)} an image": by_clicks(n) for n in CLICKS}


def scribbled(graphs: LabelledGraphs, draw: Draw, seed: int) -> LabelledGraphs:
    """The graphs with what is drawn of their labels, and no others."""
    rng = np.random.default_rng(seed)
    return replace(graphs, truth=[draw(truth, rng) for truth in graphs.truth])


def unary_network(n_images: int) -> UnaryClassifier:
    """The unary network of the joint model, by cross-entropy."""
    known = UnaryClassifier().plain_params().keys() - {"trainer__pretrain"}
    chosen = default_parameters(n_images, {}, cnn=False)
    return UnaryClassifier((256,)).set_params(**{name: value for name, value in chosen.items() if name in known})


def compare(
    report: Report, case: str, describer: Describer, train: LabelledGraphs, test: LabelledGraphs, draws: int
) -> None:
    """Rows of one set: both models by every budget, the mean over draws of labels."""
    estimators = {"unary network": unary_network(len(train.X)), "joint": None}
    for budget, draw in BUDGETS.items():
        n_draws = 1 if budget.startswith("100 %") else draws
        drawn = [scribbled(train, draw, seed) for seed in range(n_draws)]
        labelled = np.mean([sum(len(np.unique(truth.node)) for truth in graphs.truth) for graphs in drawn])
        report.measured(f"{case}, {budget}", "labelled regions", labelled)
        report.measured(f"{case}, {budget}", "draws", n_draws)
        for name, estimator in estimators.items():
            fits = (
                Segmenter(estimator=estimator, random_state=n).fit_graphs(describer, g) for n, g in enumerate(drawn)
            )
            found = [evaluate(fit, test).joint for fit in fits]
            for measure, value in MEASURES.items():
                report.measured(f"{case}, {budget}", f"{name}, {measure}", float(np.mean([value(s) for s in found])))


def read_sets(
    quick: bool, wanted: list[str]
) -> Iterator[tuple[str, list[LabelledImage], list[LabelledImage], Classes]]:
    """Name, training images, validation images and classes of every set that is wanted and there."""
    n_scenes = 12 if quick else SCENES
    if "scenes" in wanted:
        scenes, classes = to_samples(make_scenes(2 * n_scenes, random_state=0), "train", SCENE_CLASSES)
        yield "scenes", list(scenes[:n_scenes]), list(scenes[n_scenes:]), classes
    root = Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "msrc21"
    if "msrc21" in wanted and root.is_dir() and not quick:
        data = ImageFolder(root, drop=["horse", "mountain"])
        step = -(-len(data["train"]) // PHOTOGRAPHS)
        yield "MSRC-21", list(data["train"][::step]), list(data["val"]), data.classes


def measure(report: Report, quick: bool, draws: int = 2, sets: str = ",".join(SETS)) -> None:
    """One set after another, with bags of words."""
    warnings.simplefilter("ignore")
    for name, train, test, classes in read_sets(quick, sets.split(",")):
        describer = Describer(FeatureSettings(n_regions=300), classes, cache=None if quick else CACHE)
        learnt, judged = describer.learn(train), describer.describe(test)
        compare(report, f"{name}, {len(train)} images", describer, learnt, judged, draws)
    report.note(f"Bags of words of 300 regions an image; the defaults of Segmenter; mean of {draws} draws of labels.")
    report.note(f"Of MSRC-21, {PHOTOGRAPHS} training images at equal distances, judged by its validation images.")


if __name__ == "__main__":
    options = {
        "draws": {"type": int, "default": 2, "help": "of labels"},
        "sets": {"default": ",".join(SETS), "help": "their names, joined by commas"},
    }
    harness.main("Scribbles", measure, options)
