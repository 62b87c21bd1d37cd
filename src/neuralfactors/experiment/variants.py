"""The paper's variants as one table: what each row of its comparison is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline

from neuralfactors.estimators import CuttingPlaneSVM, StructuralSVM, StructuredEstimator, UnaryClassifier
from neuralfactors.segmentation import INTEGRATED, WITH_CNN

N_LABELS = "n_labels"  # stands for the number of classes in the numbers of hidden units
DAGGER = "int+lin-dagger"

LOGISTIC: dict[str, Any] = {"hidden": (), "C": 100.0, "max_iter": 50, "batch_size": "auto", "keep": "last"}
LINEAR: dict[str, Any] = {**INTEGRATED, "unary_hidden": (), "interaction_hidden": ()}


@dataclass(frozen=True)
class Variant:
    """One row: an estimator and, where training is bifurcated, the logistic regression whose outputs it sees."""

    estimator: type[StructuredEstimator]
    parameters: Mapping[str, Any]
    bifurcated: bool = False
    note: str = field(default="", compare=False)

    def build(
        self, n_labels: int, changes: Mapping[str, Any] | None = None, *, cnn: bool = False
    ) -> StructuredEstimator | Pipeline:
        """The estimator of this row, or the pipeline, not yet fitted; `cnn` says whether it will see CNN features.

        `changes` replace parameters of the estimator; those that begin with ``unary__`` are for the regression.
        """
        changes = dict(changes or {})
        first = {key.removeprefix("unary__"): changes.pop(key) for key in list(changes) if key.startswith("unary__")}
        integrated = self.estimator is StructuralSVM and not self.bifurcated
        parameters = {**self.parameters, **(WITH_CNN if cnn and integrated else {}), **changes}
        for name in ("unary_hidden", "interaction_hidden"):
            if name in parameters:
                parameters[name] = tuple(n_labels if n == N_LABELS else n for n in parameters[name])
        estimator = self.estimator().set_params(**parameters)
        if not self.bifurcated:
            return estimator
        regression = UnaryClassifier().set_params(**{**LOGISTIC, **first})
        return Pipeline([("unary", regression), ("model", estimator)])


VARIANTS: dict[str, Variant] = {
    "unary": Variant(UnaryClassifier, LOGISTIC, note="logistic regression, every region by itself"),
    "CP": Variant(CuttingPlaneSVM, {"C": 10.0, "max_iter": 40}, True, "linear factors, cutting planes"),
    "SGD": Variant(StructuralSVM, LINEAR, True, "linear factors, subgradient descent"),
    "int+lin": Variant(
        StructuralSVM, {**INTEGRATED, "interaction_hidden": ()}, note="neural unary, linear interaction"
    ),
    "bif+nrl": Variant(StructuralSVM, {**INTEGRATED, "unary_hidden": ()}, True, "neural interaction, bifurcated"),
    "int+nrl": Variant(StructuralSVM, INTEGRATED, note="neural unary and interaction, trained together"),
    DAGGER: Variant(
        StructuralSVM,
        {**INTEGRATED, "unary_hidden": (N_LABELS,), "interaction_hidden": ()},
        note="one hidden unit a class, linear interaction",
    ),
    "3-layer": Variant(
        StructuralSVM,
        {**INTEGRATED, "unary_hidden": (256,) * 3, "interaction_hidden": (512,) * 3, "activation": "relu"},
        note="three hidden layers each",
    ),
}


def row_name(name: str) -> str:
    """The row called `name`, as folders spell it: ``int†+lin`` is ``int+lin-dagger``."""
    found = DAGGER if name == "int†+lin" else name
    if found not in VARIANTS:
        raise ValueError(f"method must be one of {', '.join(VARIANTS)}, got {name!r}")
    return found
