"""From settings to estimators: built for a variant, and tried before any work."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from neuralfactors._common.files import FileFormatError
from neuralfactors._common.parameters import Parameter
from neuralfactors._core.graph import Graph
from neuralfactors._experiment.data import feature_settings
from neuralfactors._experiment.variants import (
    BALANCE,
    MANY_IMAGES,
    MODEL,
    OF_TARGETS,
    VARIANTS,
    check_parameters,
    targets_by,
)
from neuralfactors._runs import Epoch, RowFolder, Run, RunConfig, RunFolder
from neuralfactors.estimators import Checkpoint, StructuredEstimator
from neuralfactors.learning._history import Callback, Record
from neuralfactors.segmentation._fine_tuning import check_tunable
from neuralfactors.segmentation._targets import Targets


def changes_of(config: RunConfig, variant: str) -> dict[str, Parameter]:
    """Changes of the parameters of the estimator of `variant`."""
    known, own = VARIANTS[variant].changeable, config.parameters.get(variant, {})
    said = config.parameters_of(variant)
    return {name: value for name, value in said.items() if name not in OF_TARGETS and (name in own or name in known)}


def targets_of(config: RunConfig, variant: str) -> Targets:
    """What `variant` learns from labels."""
    said = config.parameters_of(variant)
    stated = (said.get(BALANCE), VARIANTS[variant].balance, config.balance)
    return targets_by(said, next((float(balance) for balance in stated if isinstance(balance, int | float)), None))


def build_model(
    variant: str,
    config: RunConfig,
    n_labels: int,
    n_images: int,
    folder: RowFolder | None = None,
    labelled: float = 1.0,
) -> StructuredEstimator | Pipeline:
    """The estimator of `variant` for so many labels and images, writing checkpoints and history into `folder`.

    `labelled` is the share of the regions that have a labelled pixel.
    """
    changes = changes_of(config, variant)
    model = VARIANTS[variant].build(n_labels, n_images, changes, cnn=config.uses_cnn, labelled=labelled)
    for name, stage in named_stages(model):
        if folder is not None:
            stage.set_params(callbacks=_callbacks(name, stage, folder))
    return model


def _callbacks(name: str, stage: StructuredEstimator, folder: RowFolder) -> list[Callback | Checkpoint]:
    def add(record: Record) -> None:
        folder.add_epoch(Epoch.of(record["epoch"], record.get("seconds", {}), record))

    found: list[Callback | Checkpoint] = [add] if name == MODEL else []
    if "trainer" in stage.get_params():  # others cannot be resumed
        found.append(Checkpoint(folder.checkpoint(name)))
    return found


def named_stages(model: StructuredEstimator | Pipeline) -> list[tuple[str, StructuredEstimator]]:
    """The estimators of a variant with their names: "model", and before it "first" where training is bifurcated."""
    return list(model.steps) if isinstance(model, Pipeline) else [(MODEL, model)]


def check_settings(config: RunConfig) -> None:
    """Refuse unknown features and parameters."""
    feature_settings(config)
    check_parameters(config.parameters)


def usable_run(folder: RunFolder) -> Run:
    """The run in `folder`, refused if its settings name anything unknown: the file may come from elsewhere."""
    run = folder.run()
    try:
        check_settings(run.settings)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{folder.path} contains a run that cannot be resumed: {error}") from error
    return run


def check_config(config: RunConfig) -> None:
    """Refuse settings that cannot be used, before a run folder is made for them: each model learns a tiny graph."""
    check_settings(config)
    for variant in config.variants:
        stages = [stage for _, stage in named_stages(build_model(variant, config, 2, MANY_IMAGES))]
        try:
            check_tunable(feature_settings(config), stages)
            _dry_run(stages)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise ValueError(f"the settings of {variant!r} cannot be used: {error}") from error


def _dry_run(stages: Sequence[StructuredEstimator]) -> None:
    """Learn one graph of two nodes in one epoch: what an estimator refuses, it refuses here."""
    X, Y = [Graph(np.eye(2), [[0, 1]], edge_features=np.ones((1, 1)))], [np.array([0, 1])]
    for stage in stages:
        stage.set_params(class_weight=None)  # the settings may weigh more classes than these
        if stage.max_iter == "auto" or (isinstance(stage.max_iter, int) and stage.max_iter > 1):
            stage.set_params(max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            stage.fit(X, Y, **({"validation": (X, Y)} if "trainer" in stage.get_params() else {}))
        X = stage.transform(X) if stage is not stages[-1] else X
