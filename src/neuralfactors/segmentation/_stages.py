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
    """Unfitted estimators, in the order in which they are trained.

    Parameters
    ----------
    estimator : estimator, Pipeline or None
        As in `Segmenter`; it is copied. None: a `StructuralSVM` with the defaults for so many images.
    n_images : int
        Number of training images.
    common : mapping of str to object
        Parameters that every stage takes over if it has them: none that is None here, and no `class_weight` where the
        stage has its own.
    cnn : bool
        Whether CNN features describe the regions.
    labelled : float, default=1.0
        Share of the regions that have a labelled pixel.

    Returns
    -------
    list of StructuredEstimator
        One, or two: the first transforms what the second learns from.
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

    Parameters
    ----------
    stages : list of StructuredEstimator
        See `new_stages`.
    train : TrainingData
        What they learn from.
    validation : pair (X, Y) or None
        Graphs and labels by which a stage with a trainer is judged after every epoch.

    Returns
    -------
    list of StructuredEstimator
        The same, fitted.
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
