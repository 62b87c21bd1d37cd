"""What "auto" stands for: C, learning rate, batch size and epochs from the data, kept on the estimator and in files."""

from dataclasses import replace

import numpy as np
import pytest

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredPerceptron,
    UnaryClassifier,
    load,
)
from neuralfactors.learning import Subgradient
from neuralfactors.learning._auto_parameters import resolve
from neuralfactors.learning._subgradient import TrainingSettings
from neuralfactors.learning._training_graphs import Samples

AUTO = TrainingSettings(
    Subgradient(), C=("auto", "auto"), max_iter="auto", batch_size="auto", loss="hinge", void="drop", n_hidden=(0, 0),
    seed=0,
)  # fmt: skip


def samples(n_graphs, n_nodes=1):
    graph = Graph(np.zeros((n_nodes, 1)))
    return Samples([graph] * n_graphs, [np.zeros(n_nodes, np.int64)] * n_graphs, 2, 1, 0, 2)


@pytest.mark.parametrize(
    ("n_graphs", "n_nodes", "batch_size", "max_iter"),
    [(1, 1, 1, 1500), (1, 10_000, 1, 200), (1, 10**6, 1, 100), (90, 1, 2, 34), (2000, 6, 40, 30), (10_000, 6, 64, 10)],
)
def test_batches_and_epochs(n_graphs, n_nodes, batch_size, max_iter):
    found = resolve(AUTO, samples(n_graphs, n_nodes))
    assert (found.batch_size, found.max_iter) == (batch_size, max_iter)


@pytest.mark.parametrize(
    ("labels", "C"),
    [([[0]] * 12, 12.0), ([[0, 1]] * 12, 6.0), ([[0] * 4] * 12, 3.0), ([[1] * 100] * 12, 3.0), ([[1] * 10**4], 0.25),
     ([[0, 1, 1], [0]], 1.0), ([[0, -1, -1, -1]] * 12, 12.0), ([[0], [-1], [-1]], 3.0)],
)  # fmt: skip
def test_C_goes_by_graphs_and_their_labelled_nodes(labels, C):
    Y = [np.array(y) for y in labels]
    found = resolve(AUTO, Samples([Graph(np.zeros((len(y), 1))) for y in Y], Y, 2, 1, 0, 2))
    assert found.C == (C, C)


@pytest.mark.parametrize(
    ("n_labelled", "drop_void", "C"), [(51, False, 0.25), (49, False, 1 / 20), (10, False, 0.1), (49, True, 0.25)]
)
def test_few_labels_weigh_less_where_the_others_are_completed(n_labelled, drop_void, C):
    y = np.where(np.arange(100) < n_labelled, 1, -1)
    found = resolve(AUTO, Samples([Graph(np.zeros((100, 1)))], [y], 2, 1, 0, 2, drop_void))
    assert (found.C, found.few_labels) == ((C, C), C < 0.25)


def test_what_is_given_or_known_stays():
    given = replace(AUTO, trainer=Subgradient(interaction_learning_rate=0.5), C=(2.0, "auto"), batch_size=None)
    found = resolve(given, samples(30), {"C": 7.0, "interaction_C": 8.0, "learning_rate": 0.25})
    assert (found.C, found.trainer.learning_rates) == ((2.0, 8.0), (0.25, 0.5))
    assert (found.batch_size, found.max_iter) == (None, 1500)


def test_rates_go_by_layers_and_optimiser():
    rates = {}
    for name in ("adam", "sgd", "rmsprop", "adagrad"):
        given = replace(AUTO, trainer=Subgradient(optimizer=name), C=(3.0, 1.0), n_hidden=(0, 1))
        rates[name] = resolve(given, samples(1)).trainer.learning_rates
    assert rates["adam"] == (0.02, 0.01)
    assert rates["sgd"] == pytest.approx((0.02 / 3.02, 0.01 / 1.01))
    assert rates["rmsprop"] == pytest.approx((0.002, 0.001))
    assert rates["adagrad"] == (0.4, 0.2)


@pytest.mark.parametrize("kind", [StructuralSVM, UnaryClassifier, CuttingPlaneSVM, FrankWolfeSVM])
def test_every_learner_chooses_the_same_C(kind, tmp_path):
    X, Y = make_chains(12, 4, 2)
    fast = {"max_iter": 2} if kind in (StructuralSVM, UnaryClassifier) else {"tol": 0.5}
    automatic, given = kind(**fast).fit(X, Y), kind(C=3.0, **fast).fit(X, Y)
    assert automatic.C == "auto"
    assert automatic.C_ == given.C_ == 3.0
    assert automatic.history_[-1]["objective"] == given.history_[-1]["objective"]
    automatic.save(tmp_path)
    assert load(tmp_path).C_ == 3.0


def test_partial_fit_keeps_what_the_first_call_chose(tmp_path):
    X, Y = make_chains(120, 4, 2)
    svm = StructuralSVM((), ()).partial_fit(X, Y).partial_fit(X[:5], Y[:5])
    assert (svm.C_, svm.interaction_C_, svm.batch_size_, svm.descent_.settings.C) == (30.0, 30.0, 3, (30.0, 30.0))
    svm.save(tmp_path)
    assert load(tmp_path).partial_fit(X[:5], Y[:5]).descent_.settings.C == (30.0, 30.0)
    assert StructuralSVM((), ()).partial_fit(X[:5], Y[:5]).C_ == 1.25


def test_the_perceptron_chooses_too():
    perceptron = StructuredPerceptron().fit(*make_chains(120, 4, 2))
    assert (perceptron.batch_size_, perceptron.max_iter_, perceptron.learning_rate_) == (3, 38, 1.0)
