"""Parts of estimators: reached by scikit-learn's names whether given or left out, and never shared."""

import inspect

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from torch import nn

from neuralfactors import estimators
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    Decoder,
    Network,
    StructuralSVM,
    StructuredPerceptron,
    Subgradient,
    UnaryClassifier,
)

FAST = {"C": 100.0, "max_iter": 8}
PARTS = [Network, Subgradient, Decoder]


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


@pytest.mark.parametrize(
    "check", ["check_get_params_invariance", "check_set_params", "check_estimator_repr", "check_estimator_cloneable"]
)
@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_parts_keep_the_conventions(kind, check):
    getattr(estimator_checks, check)(kind.__name__, kind())


def test_parameters_of_parts_left_out_can_be_read_and_set():
    svm = StructuralSVM()
    found = svm.get_params()
    assert (found["trainer"], found["trainer__optimizer"], found["decoder__method"]) == (None, "adam", "auto")
    assert (found["unary"], found["unary__hidden"], found["interaction__dropout"]) == ((256,), (256,), 0.0)
    svm.set_params(trainer__learning_rate=0.5, unary__dropout=0.3, decoder__method="icm")
    assert (svm.trainer.learning_rate, svm.unary.hidden, svm.unary.dropout) == (0.5, (256,), 0.3)
    assert svm.decoder.method == "icm"
    assert StructuralSVM().get_params()["trainer__learning_rate"] == "auto", "a default was changed for all"
    assert svm.interaction == (512,)


def test_a_part_and_its_parameters_may_be_set_at_once():
    given = Subgradient(averaging="linear")
    svm = StructuralSVM(trainer=Subgradient(averaging="uniform")).set_params(trainer__t0=2.0, trainer=given)
    assert svm.trainer is given
    assert (given.averaging, given.t0) == ("linear", 2.0)


def test_clones_have_parts_of_their_own():
    svm = StructuralSVM(Network((3,)), trainer=Subgradient(patience=2))
    other = clone(svm).set_params(trainer__patience=5, unary__hidden=(4,))
    assert (svm.trainer.patience, svm.unary.hidden) == (2, (3,))
    assert (other.trainer.patience, other.unary.hidden) == (5, (4,))


def test_plain_parameters_take_parts_apart():
    module = nn.Linear(3, 3)
    found = StructuralSVM(module, trainer=Subgradient()).plain_params()
    assert found["unary"] is module
    assert not {"interaction", "trainer", "decoder", "unary__hidden"} & found.keys()
    assert found == StructuralSVM(module, Network((512,)), decoder=Decoder()).plain_params()


def test_a_module_has_no_parameters_to_set():
    with pytest.raises(ValueError, match="unary is a Linear, which has no parameters to set"):
        StructuralSVM(nn.Linear(3, 3)).set_params(unary__dropout=0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'speed' for estimator Subgradient"):
        StructuralSVM().set_params(trainer__speed=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'trainer'"):
        CuttingPlaneSVM().set_params(trainer__learning_rate=1.0)


def test_the_perceptron_has_a_trainer_of_its_own():
    found = StructuredPerceptron().get_params()
    assert (found["trainer__optimizer"], found["trainer__learning_rate"], found["trainer__averaging"]) == (
        "sgd", 1.0, "uniform",
    )  # fmt: skip
    changed = StructuredPerceptron().set_params(trainer__averaging=None).trainer
    assert (changed.averaging, changed.optimizer, changed.momentum) == (None, "sgd", 0.0)


def test_representations_show_what_was_changed():
    svm = StructuralSVM((), trainer=Subgradient(learning_rate=0.1))
    assert repr(svm) == "StructuralSVM(trainer=Subgradient(learning_rate=0.1), unary=())"


def test_grid_search_reaches_parts(chains):
    X, Y = chains
    grid = {"C": [1e-6, 100.0], "trainer__learning_rate": [0.02], "unary__hidden": [(), (2,)]}
    search = GridSearchCV(StructuralSVM((), (), max_iter=3), grid, cv=2).fit(X, Y)
    assert search.best_params_["C"] == 100.0
    assert search.best_estimator_.trainer.learning_rate == 0.02
    whole = GridSearchCV(StructuralSVM((), (), max_iter=2), {"trainer": [None, Subgradient(learning_rate=0.1)]}, cv=2)
    assert len(whole.fit(X, Y).cv_results_["params"]) == 2


def test_pipelines_and_cross_validation(chains):
    pipeline = make_pipeline(UnaryClassifier(max_iter=3), StructuralSVM((), (), **FAST))
    pipeline.set_params(structuralsvm__trainer__learning_rate=0.02, unaryclassifier__unary__hidden=(2,))
    assert cross_val_score(pipeline, *chains, cv=2).shape == (2,)


@pytest.mark.parametrize("kind", [k for k in vars(estimators).values() if inspect.isclass(k)], ids=lambda k: k.__name__)
def test_every_default_is_said_once(kind):
    """Subclasses may have another default, but none repeats that of its base."""
    for base in kind.__mro__[1:]:
        for name in vars(kind).get("__annotations__", {}).keys() & vars(base).get("__annotations__", {}).keys() - {"_"}:
            if issubclass(base, BaseEstimator) and not name.startswith("_"):
                assert getattr(kind, name) != getattr(base, name), (kind, name)
