"""The paper's variants and figures, to stand beside those of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PAPER = "Houthooft & De Turck, Integrated Inference and Learning of Neural Factors in Structural SVMs"


@dataclass(frozen=True)
class Variant:
    """One row of the paper's tables."""

    folder: str  # in a run's rows/
    name: str  # as it is printed
    training: str  # "unary", "bifurcated" or "integrated"
    description: str


VARIANTS = (
    Variant("unary", "unary", "unary", "Logistic regression on each region alone, no interactions"),
    Variant("CP", "CP", "bifurcated", "Linear factors on its outputs, cutting planes"),
    Variant("SGD", "SGD", "bifurcated", "Linear factors on its outputs, subgradient descent"),
    Variant("int+lin", "int+lin", "integrated", "Neural unary and linear interaction factors, trained together"),
    Variant("bif+nrl", "bif+nrl", "bifurcated", "Neural interaction factors on fixed logistic outputs"),
    Variant("int+nrl", "int+nrl", "integrated", "Neural unary and neural interaction factors, trained together"),
    Variant("int+lin-dagger", "int†+lin", "integrated", "As int+lin, with one hidden unit a class"),
    Variant("3-layer", "3-layer", "integrated", "As int+nrl, with three hidden layers"),
    Variant("neural-factors", "neural factors", "integrated", "As int+nrl, one image a step, classes balanced"),
)


@dataclass(frozen=True)
class Figures:
    """Accuracies in percent that the paper prints for one row; an empty `per_class` where it prints none."""

    pixel: float
    class_mean: float
    per_class: dict[str, float]  # by class name


@dataclass(frozen=True)
class Published:
    """What the paper prints for the set and the features of a run; empty where it prints nothing."""

    rows: dict[str, Figures]  # by folder name
    others: dict[str, Figures]  # the literature, in the state-of-the-art table
    seconds_per_epoch: dict[str, float]  # by folder name


def published(preset: str | None, features: str | None) -> Published:
    """The paper's figures for a preset; those of its state-of-the-art table where the features are a CNN's."""
    paper = _paper()
    if preset not in paper:
        return Published({}, {}, {})
    if features and "cnn" in features:
        table = _table(paper.get(f"{preset}_sota", {}))
        ours = table.pop("neural factors", None)
        return Published({"neural-factors": ours} if ours else {}, table, {})
    by_name = _table(paper[preset])
    rows = {variant.folder: by_name[variant.name] for variant in VARIANTS if variant.name in by_name}
    return Published(rows, {}, {"int+nrl": paper["seconds_per_epoch_int+nrl"][preset]})


def _table(document: dict[str, Any]) -> dict[str, Figures]:
    classes = document.get("classes", [])
    return {
        name: Figures(row["pixel"], row["class_mean"], dict(zip(classes, row["per_class"], strict=True)))
        for name, row in document.get("rows", {}).items()
    }


@cache
def _paper() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(__file__).with_name("paper.json").read_text(encoding="utf-8"))
    return document
