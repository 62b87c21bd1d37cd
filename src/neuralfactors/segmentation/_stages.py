"""The estimators of a segmenter: one that labels graphs, after another that transforms them in bifurcated training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from neuralfactors.estimators import StructuralSVM, StructuredEstimator
from neuralfactors.estimators._validation import Labelled
from neuralfactors.segmentation._defaults import WITH_CNN, default_parameters
from neuralfactors.segmentation._targets import TrainingData

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


def new_stages(
    estimator: StructuredEstimator | Pipeline | None,
    n_images: int,
    common: Mapping[str, Any],
    *,
    cnn: bool,
    labelled: float = 1.0,
) -> list[StructuredEstimator]:
    """Unfitted estimators, in the order in which they are trained: one, or two, the first of which transforms.

    The `estimator` is as in `Segmenter`; it is copied, and None is a `StructuralSVM` with the defaults for `n_images`,
    for CNN features or others, and for the share `labelled` of the regions that have a labelled pixel. Every stage
    takes over the `common` parameters that it has: none that is None here, and no `class_weight` where it has its own.
    """
    if estimator is None:
        chosen = default_parameters(n_images, WITH_CNN if cnn else {}, cnn=cnn, labelled=labelled)
        model = StructuralSVM().set_params(**chosen)
    else:
        model = clone(estimator)
    stages = [step for _, step in getattr(model, "steps", [("model", model)])]  # those of a Pipeline
    if len(stages) > 2 or not all(isinstance(stage, StructuredEstimator) for stage in stages):
        raise ValueError(
            f"estimator must be one of the estimators of neuralfactors, or a Pipeline of two of them, got {model!r}"
        )
    for stage in stages:
        _share(stage, common)
    return stages


def fit_stages(
    stages: list[StructuredEstimator], train: TrainingData, validation: Labelled | None
) -> list[StructuredEstimator]:
    """The stages after each has learnt from what the one before makes of the graphs.

    Stages with a trainer are judged by the graphs and labels of `validation` after every epoch.
    """
    X, held = train.X, validation
    for number, stage in enumerate(stages):
        judged = held is not None and "trainer" in stage.get_params()
        stage.fit(X, train.Y, **({"validation": held} if judged else {}))
        if number + 1 < len(stages):
            X, held = stage.transform(X), None if held is None else (stage.transform(held[0]), held[1])
    return stages


def _share(stage: StructuredEstimator, common: Mapping[str, Any]) -> None:
    known = stage.get_params()
    given = {name: value for name, value in common.items() if name in known and value is not None}
    if known.get("class_weight") is not None:
        given.pop("class_weight", None)
    stage.set_params(**given)
