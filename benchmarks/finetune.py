"""What fine-tuning the last blocks of the network adds on MSRC-21, and what further training of the factors alone adds.

The 59 validation images are learned from, and every third training image judges; test images are not looked at.
"""

from __future__ import annotations

import os
import time
import warnings
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import torch

from neuralfactors.datasets import SCENE_CLASSES, ImageFolder, make_scenes
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Describer, LabelledGraphs, Segmenter
from neuralfactors.segmentation._fine_tuning import FineTuning
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import CNNSettings, FeatureSettings
from neuralfactors.vision._tuned_backbone import TrainableColumns

PLAIN = FeatureSettings("cnn", n_regions=1000, boundaries=False)  # regions and edges of the preset
BEFORE, CONTROL, TUNED = "network as it comes", "factors train on", "blocks train too"
DROPPED = ["horse", "mountain"]
EVERY = 3


def score(segmenter: Segmenter, held: LabelledGraphs, tuning: FineTuning) -> Scores:
    """Scores on described images, of which the network of `tuning` makes anew what depends on it."""
    model, total = segmenter.stages_[-1], 0.0
    for n, graph in enumerate(held.X):
        seen = segmenter.describer_.view(held.samples[n])
        with torch.no_grad():
            columns = TrainableColumns(tuning.network, seen, held.images[n], tuning.settings)
            potentials = model.model_(tuning.batch(graph, columns))
        total = total + segmenter.confusion(held, n, potentials, model.decode(potentials))
    return Scores(total)


def trained_on(
    segmenter: Segmenter, train: LabelledGraphs, held: LabelledGraphs, cnn: CNNSettings, *, blocks: bool
) -> tuple[Scores, float]:
    """Scores after further training of the factors, and of the `blocks` too, with its seconds of CPU."""
    other = copy(segmenter)
    other.stages_ = deepcopy(segmenter.stages_)
    describer = copy(segmenter.describer_)
    describer.builder = copy(describer.builder)
    describer.builder.settings = replace(describer.builder.settings, cnn=cnn)
    start = time.process_time()
    targets = Targets().of(train, describer.n_labels)
    tuning = FineTuning(describer, other.stages_[-1], train, targets)
    tuning.network.tail.requires_grad_(blocks)
    tuning.run()
    seconds = time.process_time() - start
    return score(other, held, tuning), seconds


def figures(
    describer: Describer, train: LabelledGraphs, held: LabelledGraphs, cnn: CNNSettings, seed: int
) -> dict[str, list[float]]:
    start = time.process_time()
    segmenter = Segmenter(random_state=seed).fit_graphs(describer, train)
    found = {BEFORE: (segmenter.score_graphs(held), time.process_time() - start)}
    for name, blocks in ((CONTROL, False), (TUNED, True)):
        found[name] = trained_on(segmenter, train, held, cnn, blocks=blocks)
    return {name: [s.pixel_accuracy, s.class_mean_accuracy, seconds] for name, (s, seconds) in found.items()}


def measure(report: harness.Report, quick: bool, seeds: int = 2, blocks: int = 3, record: Any = None) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cnn = CNNSettings(finetune=blocks, **({"finetune_epochs": 1, "scale": 1.0} if quick else {}))
    report.note("Accuracies are shares; seconds of CPU, one thread. Test images are not looked at.")
    if quick:
        scenes = make_scenes(6, random_state=1)
        samples, classes = to_samples(scenes, "train", SCENE_CLASSES)
        learnt, judged = samples[:4], samples[4:]
    else:
        data = ImageFolder(Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "msrc21", drop=DROPPED)
        learnt, judged, classes = data["val"], data["train"][::EVERY], data.classes
    describer = Describer(replace(PLAIN, cnn=replace(cnn, finetune=0)), classes, cache=harness.CACHE)
    train, held = describer.learn(learnt), describer.describe(judged)
    kept = harness.Kept(record)
    found = [kept(f"seed {seed}", partial(figures, describer, train, held, cnn, seed)) for seed in range(seeds)]
    for name in found[0]:
        values = np.array([each[name] for each in found])
        for k, metric in enumerate(("pixels", "class mean", "seconds")):
            report.measured(f"{len(learnt)} → {len(judged)}", f"{name}, {metric}", values[:, k].mean())
            if k < 2:
                gain = values[:, k] - np.array([each[BEFORE] for each in found])[:, k]
                report.measured(f"{len(learnt)} → {len(judged)}", f"{name}, {metric}, least gain of a seed", gain.min())


if __name__ == "__main__":
    options = {
        "seeds": {"type": int, "default": 2, "help": "of training and order"},
        "blocks": {"type": int, "default": 3, "help": "that learn"},
        "record": {"type": Path, "help": "file of what each seed found; what is there is not computed again"},
    }
    harness.main("Fine-tuning", measure, options)
