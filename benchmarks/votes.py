"""What votes over several segmentations of an image add to a trained row: mirrored, with coarser and finer regions."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np
import torch

from neuralfactors._experiment.data import open_folder
from neuralfactors._runs import RunFolder, variant_key
from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import StructuralSVM
from neuralfactors.metrics import Scores, confusion_matrix
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import FeatureBuilder, FeatureSettings

MIRRORED, COARSER, FINER = "mirrored", "2/3 as many regions", "3/2 as many regions"
SIZES = {COARSER: 2 / 3, FINER: 3 / 2}
ELECTORATES = ((), (MIRRORED,), (COARSER, FINER), (MIRRORED, COARSER, FINER))


def with_regions(segmenter: Segmenter, share: float) -> Segmenter:
    """The same model and words, with more or fewer regions."""
    settings = segmenter.describer_.builder.settings
    builder = FeatureBuilder(replace(settings, n_regions=round(share * settings.n_regions)))
    builder.words_ = segmenter.describer_.builder.words_
    other = copy(segmenter)
    other.describer_ = copy(segmenter.describer_)
    other.describer_.builder = builder
    return other


def votes_of(segmenter: Segmenter, image: np.ndarray) -> np.ndarray:
    """A vote (H, W, L) for the predicted label of every pixel, as heavy as the model is sure of it."""
    labels, sure = segmenter.predict_with_confidence(image)
    return np.asarray(np.eye(len(segmenter.class_names))[labels] * sure[:, :, None])


def accuracies(segmenter: Segmenter, pairs: object) -> dict[tuple[str, ...], Scores]:
    """Scores of the plain prediction and of votes, by the views that have one beside the plain one."""
    n_labels = len(segmenter.class_names)
    others = {name: with_regions(segmenter, share) for name, share in SIZES.items()}
    counts = {views: np.zeros((n_labels, n_labels)) for views in ELECTORATES}
    for image, y in pairs:
        found = {name: votes_of(other, image) for name, other in others.items()}
        found[MIRRORED] = votes_of(segmenter, np.ascontiguousarray(image[:, ::-1]))[:, ::-1]
        plain = votes_of(segmenter, image)
        for views, count in counts.items():
            y_pred = sum((found[view] for view in views), plain).argmax(axis=2)
            count += confusion_matrix(y.ravel(), y_pred.ravel(), n_labels)
    return {views: Scores(count) for views, count in counts.items()}


def tell(report: harness.Report, case: str, scores: dict[tuple[str, ...], Scores]) -> None:
    plain = scores[()]
    report.measured(case, "plain, pixels", plain.pixel_accuracy)
    report.measured(case, "plain, class mean", plain.class_mean_accuracy)
    for views, found in scores.items():
        if views:
            told = ", ".join(views)
            report.measured(case, f"gain with {told}, pixels", found.pixel_accuracy - plain.pixel_accuracy)
            gain = found.class_mean_accuracy - plain.class_mean_accuracy
            report.measured(case, f"gain with {told}, class mean", gain)


def measure(report: harness.Report, quick: bool, run: str = "", row: str = "int+nrl", split: str = "val") -> None:
    torch.set_num_threads(1)
    if run and not quick:
        folder = RunFolder(Path(run))
        samples = open_folder(folder.run().settings)[split]
        segmenter = Segmenter.load(folder.row(variant_key(row)).path, features=folder.features)
        pairs = ((sample.read_image(), sample.read_labels()) for sample in samples)
        tell(report, f"{row}, {len(samples)} images of {split}", accuracies(segmenter, pairs))
        return
    report.note("Synthetic scenes; name a run that train or compare made by --run.")
    scenes = make_scenes(4 if quick else 40, random_state=1)
    half = len(scenes) // 2
    model = StructuralSVM((8,), (8,), max_iter=2) if quick else None
    segmenter = Segmenter(FeatureSettings(n_regions=300), estimator=model, classes=SCENE_CLASSES)
    tell(report, "scenes", accuracies(segmenter.fit(scenes[:half]), scenes[half:]))


if __name__ == "__main__":
    options = {
        "run": {"default": "", "metavar": "RUN", "help": "a run, or RUN/seed-K of a comparison"},
        "row": {"default": "int+nrl", "help": "whose model it is"},
        "split": {"default": "val", "help": "which images to judge by"},
    }
    harness.main("Votes over several segmentations of an image", measure, options)
