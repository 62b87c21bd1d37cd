"""One side of a claim, trained: the same C, class weights and epochs for all, and rates that trials have chosen."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.parameters import Parameter
from neuralfactors._experiment.claims.networks import OnRegression, on_regression
from neuralfactors._experiment.claims.recipes import RECIPES, Regression
from neuralfactors._experiment.data import Prepared
from neuralfactors._experiment.models import build_model, targets_of
from neuralfactors._experiment.variants import N_LABELS, VARIANTS
from neuralfactors._runs import RunConfig
from neuralfactors.estimators import StructuralSVM, UnaryClassifier
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import LabelledGraphs, Segmenter
from neuralfactors.segmentation._evaluation import PARTS, image_confusions
from neuralfactors.segmentation._targets import TrainingData

BASIS, BIFURCATED = "int+nrl", "bif+nrl"  # rows whose settings all sides share, and whose rates some begin with
RATES = ("trainer__learning_rate", "trainer__interaction_learning_rate")
# A regression that is as weak as the paper's: one pass with a small rate.
WEAK: dict[str, Parameter] = {"max_iter": 1, "trainer__learning_rate": 0.001}
ON = 0.1  # what trains on does so with this share of the rates


@dataclass(frozen=True)
class Bench:
    """Images and settings that all sides share, with one seed."""

    config: RunConfig
    prepared: Prepared
    regression: Regression

    def shared(self) -> dict[str, Parameter]:
        """Parameters of every side: those of the row int+nrl but for rates and hidden units."""
        n_images = len(self.prepared.train.X)
        model = build_model(BASIS, self.config, self.prepared.describer.n_labels, n_images)
        assert isinstance(model, StructuralSVM)
        own = ("__hidden", "learning_rate", "__activation", "__dropout")
        known = {name: value for name, value in model.plain_params().items() if not name.endswith(own)}
        if self.regression == "weak":
            known["trainer__pretrain"] = 0
        changeable = VARIANTS[BASIS].changeable
        return {name: value for name, value in known.items() if name in changeable}

    def rates(self, recipe: str) -> dict[str, float]:
        """The rates that the trials of a side begin with."""
        made = RECIPES[recipe]
        model = build_model(BASIS if made.unary else BIFURCATED, self.config, 2, len(self.prepared.train.X))
        stage = model if made.unary else model[-1]
        known = stage.plain_params()
        unary, interaction = (known[name] for name in RATES)
        share = ON if made.start else 1.0
        return {RATES[0]: share * unary, RATES[1]: share * (unary if interaction is None else interaction)}

    def data(self) -> TrainingData:
        """What all sides learn from."""
        describer = self.prepared.describer
        targets = targets_of(self.config, BASIS)
        return targets.of(self.prepared.train, describer.n_labels)

    def common(self, data: TrainingData) -> dict[str, Any]:
        """Parameters that follow from the images and the seed."""
        return {
            "n_labels": self.prepared.describer.n_labels,
            "class_weight": data.class_weight,
            "random_state": self.config.seed,
        }

    def fit(self, recipe: str, rates: Mapping[str, float], start: StructuralSVM | None = None) -> StructuralSVM:
        """The model of a side, trained with these rates, from the solution that it starts with where it has one."""
        made, data = RECIPES[recipe], self.data()
        common = self.common(data)
        if start is not None:
            model = deepcopy(start).set_params(warm_start=True, **rates)
            network = model.model_.unary
            assert isinstance(network, OnRegression)
            network.freeze(made.frozen)
            return model.fit(data.X, data.Y)
        hidden = tuple(common["n_labels"] if units == N_LABELS else units for units in made.interaction)
        options = {**self.shared(), **rates, **common, "interaction__hidden": hidden}
        if made.unary is None:
            taken = ("unary__", "trainer__pretrain")  # the regression is there already
            options = {name: value for name, value in options.items() if not name.startswith(taken)}
            network = self._on_regression(data)
            network.freeze(made.frozen)
            return StructuralSVM(network).set_params(**options).fit(data.X, data.Y)
        units = tuple(common["n_labels"] if n == N_LABELS else n for n in made.unary)
        return StructuralSVM(units).set_params(**options).fit(data.X, data.Y)

    def _on_regression(self, data: TrainingData) -> OnRegression:
        model = build_model(BIFURCATED, self.config, 2, len(data.X))
        first = model[0].set_params(**self.common(data), **(WEAK if self.regression == "weak" else {}))
        assert isinstance(first, UnaryClassifier)
        return on_regression(first.fit(data.X, data.Y))

    def segmenter(self, model: StructuralSVM) -> Segmenter:
        """What labels described images by `model`."""
        segmenter = Segmenter()
        segmenter.describer_, segmenter.stages_ = self.prepared.describer, [model]
        return segmenter

    def score(self, model: StructuralSVM) -> float:
        """Mean of pixel and class-mean accuracy on the validation images."""
        assert self.prepared.val is not None
        scores: Scores = self.segmenter(model).score_graphs(self.prepared.val)
        return (scores.pixel_accuracy + scores.class_mean_accuracy) / 2

    def confusions(self, model: StructuralSVM, graphs: LabelledGraphs) -> NDArray[np.int64]:
        """Pixels (3, N, L, L) by true and predicted class, for every part of the model and every image."""
        found = image_confusions(self.segmenter(model), graphs)
        return np.stack([found[part] for part in PARTS]).astype(np.int64)
