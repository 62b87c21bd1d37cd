"""What is asked of a run, tried before any work: settings that cannot be are refused at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from neuralfactors.estimators import StructuredEstimator
from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.data import feature_settings
from neuralfactors.experiment.rows import build_row, named_stages
from neuralfactors.experiment.variants import MANY_IMAGES
from neuralfactors.graph import Graph


def check_config(config: RunConfig) -> None:
    """Refuse features and parameters that cannot be, before a run folder is made for them."""
    feature_settings(config)
    for row in config.rows:
        try:
            _rehearse([stage for _, stage in named_stages(build_row(row, config, n_labels=2, n_images=MANY_IMAGES))])
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise ValueError(f"the settings of row {row!r} cannot be used: {error}") from error


def _rehearse(stages: Sequence[StructuredEstimator]) -> None:
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
