"""The paper's figures, to stand beside those of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from neuralfactors._runs import NAMES, STATE_OF_THE_ART, USUAL

PAPER = "Houthooft & De Turck, Integrated Inference and Learning of Neural Factors in Structural SVMs"


@dataclass(frozen=True)
class Figures:
    """Accuracies that the paper prints for one row, as shares; an empty `per_class` where it prints none."""

    pixel: float
    class_mean: float
    per_class: dict[str, float]  # by class name


@dataclass(frozen=True)
class Published:
    """What the paper prints for the set and the features of a run; empty where it prints nothing."""

    rows: dict[str, Figures]  # by variant
    others: dict[str, Figures]  # the literature, in the state-of-the-art table
    seconds_per_epoch: dict[str, float]  # by variant


def published(preset: str | None, features: str) -> Published:
    """The paper's figures for a preset; those of its state-of-the-art table where the features are a CNN's."""
    paper = _paper()
    seconds = paper["seconds_per_epoch_int+nrl"]
    if preset is None or preset not in seconds:
        return Published({}, {}, {})
    if "cnn" in features:
        table = _table(paper.get(f"{preset}_sota", {}))
        ours = table.pop(NAMES[STATE_OF_THE_ART].printed, None)
        return Published({STATE_OF_THE_ART: ours} if ours else {}, table, {})
    table = _table(paper[preset])
    rows = {name.key: table[name.printed] for name in NAMES.values() if name.printed in table}
    return Published(rows, {}, {USUAL: seconds[preset]})


def _table(document: dict[str, Any]) -> dict[str, Figures]:
    classes = document.get("classes", [])
    found = {}
    for name, row in document.get("rows", {}).items():
        per_class = dict(zip(classes, (value / 100 for value in row["per_class"]), strict=True))
        found[name] = Figures(row["pixel"] / 100, row["class_mean"] / 100, per_class)
    return found


@cache
def _paper() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(__file__).with_name("paper.json").read_text(encoding="utf-8"))
    return document
