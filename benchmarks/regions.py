"""Regions of several finenesses and those that are chosen: their ceiling, and what the default model reaches."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import torch

from neuralfactors.datasets import ImageFolder, make_cells, make_scenes
from neuralfactors.segmentation import Segmenter, evaluate
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.vision import FeatureSettings

NUMBERS = (300, 1000, 3000, 0)  # 0: as many as the labels need
SEED = 1  # of the cells and scenes, if no other is given; none of the choices looked at it
TARGETS = {"cells": 0.9}  # class means with the regions that are chosen
# Training images of the public sets: the split, classes left out, and how many to learn from and to judge by.
SETS: dict[str, tuple[str, list[str], int, int]] = {
    "msrc21": ("train", ["horse", "mountain"], 60, 30),
    "kitti": ("train_paperlike149", ["sign", "pedestrian", "cyclist"], 40, 20),
    "siftflow": ("train", [], 60, 30),
}
ALL = ("cells", "scenes", *SETS)


def compare(
    report: harness.Report, case: str, train: Sequence[Any], held: Sequence[Any], features: str, numbers: Sequence[int]
) -> None:
    """Rows of a set: ceiling, unary and joint accuracy on `held` for each number of regions."""
    samples, classes = to_samples(train, "train")
    for n_regions in numbers:
        segmenter = Segmenter(FeatureSettings(features, n_regions=n_regions))
        describer, start = segmenter.describer(classes), time.perf_counter()
        segmenter.fit_graphs(describer, describer.learn(samples))
        seconds = time.perf_counter() - start
        graphs = describer.describe(to_samples(held, "train")[0])
        ceiling, found = graphs.ceiling(describer.n_labels), evaluate(segmenter, graphs)
        refines, describer.pixels = describer.pixels is not None, None
        whole = evaluate(segmenter, graphs) if refines else found
        name = f"{case}, {n_regions or f'auto: {describer.builder.settings.n_regions}'} regions"
        report.measured(name, "seconds to learn", seconds)
        for part, pixel, mean in (
            ("ceiling", ceiling.pixel or 0.0, ceiling.class_mean or 0.0),
            ("unary", found.unary.pixel_accuracy, found.unary.class_mean_accuracy),
            ("joint, whole regions", whole.joint.pixel_accuracy, whole.joint.class_mean_accuracy),
            ("joint", found.joint.pixel_accuracy, found.joint.class_mean_accuracy),
        ):
            report.measured(name, f"{part}, pixels", pixel)
            if part == "joint" and not n_regions and case in TARGETS:
                report.at_least(name, f"{part}, class mean", mean, TARGETS[case])
            else:
                report.measured(name, f"{part}, class mean", mean)


def measure(
    report: harness.Report, quick: bool, features: str = "bow", sets: str = ",".join(ALL), seed: int = SEED
) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report.note("Accuracies are shares. Training images only, a part of which is held out; one thread.")
    if quick:
        cells = make_cells(4, shape=(96, 96), random_state=SEED)
        compare(report, "small cells", cells[:3], cells[3:], features, (60, 0))
        return
    root = Path(os.environ.get("NEURALFACTORS_DATA", "data"))
    for name in sets.split(","):
        if name == "cells":
            cells = make_cells(25, random_state=seed)
            compare(report, name, cells[:15], cells[15:], features, NUMBERS)
        elif name == "scenes":
            scenes = make_scenes(60, random_state=seed)
            compare(report, name, scenes[:40], scenes[40:], features, (300, 0))
        elif (root / name).is_dir():
            split, drop, n_train, n_held = SETS[name]
            samples = ImageFolder(root / name, drop=drop)[split]
            order = np.random.default_rng(100).permutation(len(samples))[: n_train + n_held]
            chosen = [samples[n] for n in order]
            compare(report, name, chosen[:n_train], chosen[n_train:], features, (300, 1000, 0))
        else:
            report.note(f"{root / name} is absent and left out.")


if __name__ == "__main__":
    options = {
        "features": {"default": "bow", "help": "bow, cnn or bow+cnn"},
        "sets": {"default": ",".join(ALL), "help": "their names, joined by commas"},
        "seed": {"type": int, "default": SEED, "help": "of the cells and scenes"},
    }
    harness.main("Regions", measure, options)
