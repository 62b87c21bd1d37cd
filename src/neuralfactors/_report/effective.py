"""What a row was made with, whoever chose it: the parameters of its estimators in words that fit a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuralfactors._common.parameters import Parameter

Stages = Mapping[str, Mapping[str, Parameter]]  # class and parameters by stage, as a `Row` holds them
MODEL, FIRST = "model", "first"
OPTIMISERS = {
    "adam": "Adam",
    "adamw": "AdamW",
    "sgd": "subgradients",
    "rmsprop": "RMSprop",
    "adagrad": "Adagrad",
}
WITH_MOMENTUM = ("sgd", "rmsprop")
SCHEDULES = {"cosine": "cosine", "inverse": "μ/(t₀ + t)", "constant": "constant"}


def trained_by(stages: Stages) -> str:
    """How the last estimator of a row learns, in a few words.

    >>> trained_by({"model": {"class": "StructuralSVM", "trainer__optimizer": "adam", "batch_size": 12}})
    'Adam, 12 images a step'
    """
    model = stages.get(MODEL, {})
    if model.get("class") == "CuttingPlaneSVM":
        return "cutting planes"
    if "trainer__optimizer" not in model:
        return "–"
    size = model.get("batch_size")
    images = "all images" if size is None else "1 image" if size == 1 else f"{size} images"
    optimizer = str(model["trainer__optimizer"])
    return f"{OPTIMISERS.get(optimizer, optimizer)}, {images} a step"


def shown(stages: Stages, targets: Mapping[str, Parameter]) -> dict[str, str]:
    """The settings of a row under the names that tables use; those of the regression before it come last."""
    found = {**_of_model(stages.get(MODEL, {})), **{name.replace("_", " "): _cell(v) for name, v in targets.items()}}
    first = _of_model(stages[FIRST]) if FIRST in stages else {}
    return {**found, **{f"regression: {name}": value for name, value in first.items() if name != "inference"}}


def _of_model(known: Mapping[str, Parameter]) -> dict[str, str]:
    """The settings of one estimator, by the names that tables use."""
    found: dict[str, str] = {"trained by": trained_by({MODEL: known})}
    for name, keys in PAIRS.items():
        values = [known[key] for key in keys if key in known]
        if values:
            both = [values[0] if value is None else value for value in values]
            found[name] = " / ".join(map(_cell, both))
    if "trainer__schedule" in known:
        found["schedule"] = _schedule(known)
    for name, key in SINGLE.items():
        if key in known:
            found[name] = _cell(known[key])
    return found


def _schedule(known: Mapping[str, Parameter]) -> str:
    schedule = str(known["trainer__schedule"])
    told = SCHEDULES.get(schedule, schedule)
    if schedule == "inverse":
        told += f", t₀ = {_cell(known.get('trainer__t0'))}"
    if known.get("trainer__optimizer") in WITH_MOMENTUM:
        told += f", momentum {_cell(known.get('trainer__momentum'))}"
    return told


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "×".join(map(str, value)) or "linear"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)


PAIRS = {
    "hidden units": ("unary__hidden", "interaction__hidden"),
    "activation": ("unary__activation", "interaction__activation"),
    "dropout": ("unary__dropout", "interaction__dropout"),
    "C (λ)": ("C", "interaction_C"),
    "learning rate (μ)": ("trainer__learning_rate", "trainer__interaction_learning_rate"),
}
SINGLE = {
    "epochs": "max_iter",
    "tolerance": "tol",
    "unary epochs before": "trainer__pretrain",
    "iterate kept": "trainer__keep",
    "averaging": "trainer__averaging",
    "void regions": "void",
    "inference": "decoder__method",
}
