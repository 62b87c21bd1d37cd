"""The paper's variants: what each row of its tables is made of. Their names are in `runs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from sklearn.pipeline import Pipeline

from neuralfactors._common.parameters import Parameter, Scalar
from neuralfactors._runs.config import Parameters
from neuralfactors._runs.names import ALL_VARIANTS, STATE_OF_THE_ART, key_or_all
from neuralfactors.estimators import CuttingPlaneSVM, StructuralSVM, StructuredEstimator, UnaryClassifier
from neuralfactors.segmentation._defaults import WITH_CNN, default_batch_size, default_parameters
from neuralfactors.segmentation._segmenter_file import STAGES
from neuralfactors.segmentation._targets import Targets

N_LABELS = "n_labels"  # stands for the number of classes in the numbers of hidden units
ARCHITECTURE = ("__hidden", "__activation")  # how parameters end that make a variant, where it names them
# Parameters that runs set themselves, or that no file can hold.
FIXED = {"n_labels", "random_state", "verbose", "callbacks", "warm_start"}
MANY_IMAGES = 1000  # where a variant is built before its images are known: enough for what those with many have
BALANCE = "balance"
OF_TARGETS = {BALANCE: 0.0, "cost": Targets.cost, "region_label": Targets.region_label}  # those of the Segmenter
FIRST, MODEL = STAGES  # names of the stages of a variant; only bifurcated training has the first

LOGISTIC: dict[str, Parameter] = {"C": 100.0, "max_iter": 50, "trainer__learning_rate": 0.01, "trainer__keep": "last"}
DEEP: dict[str, Parameter] = {
    "unary__hidden": (256,) * 3, "interaction__hidden": (512,) * 3,
    "unary__activation": "relu", "interaction__activation": "relu",
    "trainer__learning_rate": 0.003, "trainer__interaction_learning_rate": 0.001,
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """An estimator and, where training is bifurcated, the logistic regression whose outputs it sees."""

    estimator: type[StructuredEstimator]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    bifurcated: bool = False
    balance: float | None = None  # how much rare classes count, where the settings do not say

    @property
    def changeable(self) -> dict[str, Parameter]:
        """What settings may change, with the estimators' own defaults."""
        first = UnaryClassifier().plain_params() if self.bifurcated else {}
        known = {**self.estimator().plain_params(), **{f"{FIRST}__{name}": value for name, value in first.items()}}
        found = {name: value for name, value in known.items() if name.removeprefix(f"{FIRST}__") not in FIXED}
        return {**found, **OF_TARGETS}

    def build(
        self,
        n_labels: int,
        n_images: int,
        changes: Mapping[str, Parameter] | None = None,
        *,
        cnn: bool = False,
        labelled: float = 1.0,
    ) -> StructuredEstimator | Pipeline:
        """The estimator of this variant, or the pipeline, not yet fitted.

        It will learn from `n_images`, with CNN features or not, of whose regions the share `labelled` has a labelled
        pixel. `changes` replace its parameters; those that begin with ``first__`` are for the regression.
        """
        changes = dict(changes or {})
        prefix = f"{FIRST}__"
        first = {key.removeprefix(prefix): changes.pop(key) for key in list(changes) if key.startswith(prefix)}
        parameters = self._parameters(n_images, changes, cnn=cnn, labelled=labelled)
        for name in ("unary__hidden", "interaction__hidden"):
            if isinstance(units := parameters.get(name), Sequence):
                parameters[name] = tuple(n_labels if n == N_LABELS else n for n in units)
        estimator = self.estimator().set_params(**parameters)
        if not self.bifurcated:
            return estimator
        regression = UnaryClassifier().set_params(**_logistic(n_images, first))
        return Pipeline([(FIRST, regression), (MODEL, estimator)])

    def _parameters(
        self, n_images: int, changes: dict[str, Parameter], *, cnn: bool, labelled: float
    ) -> dict[str, Parameter]:
        """Parameters of the last estimator: those of the variant and of the features, changed by `changes`."""
        if self.estimator is UnaryClassifier:
            return _logistic(n_images, {**self.parameters, **changes})
        if self.estimator is not StructuralSVM:
            return {**self.parameters, **changes}
        own = {name: value for name, value in self.parameters.items() if name.endswith(ARCHITECTURE)}
        layers = WITH_CNN if cnn and not self.bifurcated else {}
        chosen = {**self.parameters, **layers, **own, **changes}
        return default_parameters(n_images, chosen, cnn=cnn, labelled=labelled)


def _logistic(n_images: int, changes: Mapping[str, Parameter]) -> dict[str, Parameter]:
    return {**LOGISTIC, "batch_size": default_batch_size(n_images), **changes}


VARIANTS: dict[str, Variant] = {
    "unary": Variant(UnaryClassifier),
    "CP": Variant(CuttingPlaneSVM, {"C": 10.0, "max_iter": 100, "tol": 1e-2}, bifurcated=True),
    "SGD": Variant(StructuralSVM, {"unary__hidden": (), "interaction__hidden": ()}, bifurcated=True),
    "int+lin": Variant(StructuralSVM, {"interaction__hidden": ()}),
    "bif+nrl": Variant(StructuralSVM, {"unary__hidden": ()}, bifurcated=True),
    "int+nrl": Variant(StructuralSVM),
    "int+lin-dagger": Variant(StructuralSVM, {"unary__hidden": (N_LABELS,), "interaction__hidden": ()}),
    "3-layer": Variant(StructuralSVM, DEEP),
    # The paper's second setting, for CNN features: one image a step, classes balanced.
    STATE_OF_THE_ART: Variant(StructuralSVM, {"batch_size": 1}, balance=1.0),
}


def check_parameters(parameters: Parameters) -> dict[str, dict[str, Parameter]]:
    """`parameters` by variant, as folders spell it; refused where a variant or a parameter is unknown."""
    checked: dict[str, dict[str, Parameter]] = {}
    for name, changes in parameters.items():
        key = key_or_all(name)
        variants = VARIANTS.values() if key == ALL_VARIANTS else [VARIANTS[key]]
        known = {parameter: value for variant in variants for parameter, value in variant.changeable.items()}
        for parameter, value in changes.items():
            if parameter not in known:
                raise ValueError(f"{name!r} has no parameter {parameter!r}; it has {', '.join(sorted(known))}")
            usual = known.get(parameter.replace("interaction_", "")) if known[parameter] is None else known[parameter]
            numeric = isinstance(usual, float) or parameter.endswith(("C", "learning_rate"))
            if numeric and not (_is_number(value) or value in (known[parameter], usual)):
                raise ValueError(f"{parameter} of {name!r} must be a number, got {value!r}")
            if parameter == BALANCE and not (_is_number(value) and 0 <= value <= 1):
                raise ValueError(f"balance of {name!r} must be between 0 and 1, got {value!r}")
            if parameter.endswith("hidden") and not (isinstance(value, list | tuple) and all(map(_is_size, value))):
                raise ValueError(f"{parameter} of {name!r} must be a list of numbers of units, got {value!r}")
        targets_by(changes)
        checked[key] = {**checked.get(key, {}), **changes}
    return checked


def targets_by(said: Mapping[str, Parameter], balance: float | None = None) -> Targets:
    """What is learned from labels where settings say that of it, with that `balance`."""
    words = {**OF_TARGETS, **said}
    return Targets(balance, str(words["cost"]), str(words["region_label"]))


def _is_number(value: Parameter) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_size(value: Scalar) -> bool:
    return value == N_LABELS or (isinstance(value, int) and not isinstance(value, bool) and value > 0)
