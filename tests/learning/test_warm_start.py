"""Warm starts of the convex learners: fewer passes to the same optimum, whatever has changed in between."""

import numpy as np
import pytest
from sklearn.base import clone

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import CuttingPlaneSVM, FrankWolfeSVM
from neuralfactors.inference import _kernels

LEARNERS = {
    "n-slack": CuttingPlaneSVM(5.0, tol=1e-4, max_iter=500, warm_start=True),
    "1-slack": CuttingPlaneSVM(5.0, slack="1", tol=1e-4, max_iter=500, warm_start=True),
    "frank-wolfe": FrankWolfeSVM(5.0, tol=1e-4, max_iter=500, check_every=1, warm_start=True),
    "classical": FrankWolfeSVM(5.0, tol=1e-2, max_iter=2000, check_every=1, corrective=False, warm_start=True),
}


@pytest.fixture(params=LEARNERS)
def learner(request):
    return clone(LEARNERS[request.param])


@pytest.fixture(scope="module")
def chains():
    return make_chains(20, 5, 3)


def cold(learner, X, Y):
    """The same learner without a past."""
    return clone(learner).fit(X, Y)


def test_what_has_converged_needs_one_pass(learner, chains):
    learner.fit(*chains)
    passes, objective = len(learner.history_), learner.objective_
    learner.fit(*chains)
    assert passes > 3
    assert len(learner.history_) == 1
    assert learner.objective_ == pytest.approx(objective, rel=2 * learner.tol)


def test_a_path_of_C_takes_fewer_passes(learner, chains):
    learner.fit(*chains).set_params(C=5.5)
    fresh = cold(learner, *chains)
    learner.fit(*chains)
    assert learner.converged_
    assert learner.objective_ == pytest.approx(fresh.objective_, rel=2 * learner.tol)
    assert len(learner.history_) < len(fresh.history_)


CHANGES = {
    "features": lambda X, Y: ([Graph(x.node_features + 0.1, x.edges) for x in X], Y),
    "labels": lambda X, Y: (X, [np.roll(y, 1) for y in Y]),
    "costs": lambda X, Y: ([Graph(x.node_features, x.edges, node_weight=[1, 2, 3, 1, 1]) for x in X], Y),
    "edges": lambda X, Y: ([Graph(x.node_features, x.edges[:2]) for x in X], Y),
    "order": lambda X, Y: (X[::-1], Y[::-1]),
    "more graphs": lambda X, Y: (X + X[:3], Y + Y[:3]),
    "fewer graphs": lambda X, Y: (X[:4], Y[:4]),
    "void nodes": lambda X, Y: (X, [np.where(np.arange(5) == n % 9, -1, y) for n, y in enumerate(Y)]),
    "other sizes": lambda *_: make_chains(20, 7, 3),
    "fewer labels": lambda *_: make_chains(20, 5, 2),
    "more labels": lambda *_: make_chains(20, 5, 4),
}


@pytest.mark.filterwarnings("ignore:without the void nodes")
@pytest.mark.parametrize("change", CHANGES)
def test_changed_data_lead_to_their_own_optimum(learner, chains, change):
    X, Y = CHANGES[change](list(chains[0]), list(chains[1]))
    fresh = cold(learner, X, Y)
    learner.fit(*chains).fit(X, Y)
    assert learner.converged_
    assert learner.objective_ == pytest.approx(fresh.objective_, rel=2 * learner.tol)
    assert max(r["dual"] for r in learner.history_) <= fresh.objective_ * (1 + 1e-9)


def test_other_parameters_lead_to_their_own_optimum(learner, chains):
    learner.fit(*chains)
    for change in ({"symmetric": True}, {"interaction_sign": np.eye(3)}, {"bias": False}, {"class_weight": "balanced"}):
        learner.set_params(**change)
        fresh = cold(learner, *chains)
        learner.fit(*chains)
        assert learner.objective_ == pytest.approx(fresh.objective_, rel=2 * learner.tol)


def test_another_kind_of_slack_starts_afresh(chains):
    svm = clone(LEARNERS["n-slack"]).fit(*chains)
    fresh = clone(LEARNERS["1-slack"]).fit(*chains)
    svm.set_params(slack="1").fit(*chains)
    assert svm.objective_ == fresh.objective_


def test_without_a_warm_start_nothing_is_kept(learner, chains):
    learner.fit(*chains).set_params(warm_start=False).fit(*chains)
    first = learner.objective_
    learner.set_params(warm_start=True).fit(*chains)
    assert learner.objective_ == first
    assert len(learner.history_) > 1


@pytest.mark.parametrize(
    ("n", "labellings", "alpha", "message"),
    [
        (1, [[0, 1]], [0.1], "n is out of range"),
        (0, [[0, 1, 1]], [0.1], "a row per weight and a column per node"),
        (0, [[0, 1]], [0.1, 0.2], "a row per weight"),
        (0, [[0, 2]], [0.1], "labellings is out of range"),
        (0, [[1, 1]], [-0.1], "must not be negative"),
        (0, [[1, 1], [1, 0]], [0.6, 0.6], "at most C/N"),
    ],
)
def test_the_kernel_refuses_what_does_not_fit(n, labellings, alpha, message):
    problem = _kernels.LinearProblem(2, 2, 1, 0, True, True, "auto", 0.0, 0, 0, 1, None)
    problem.add(
        np.ones((2, 1)), None, None, np.array([[0, 1]]), np.zeros((1, 0)), np.array([0, 1]), np.ones((2, 1))
    )  # fmt: skip
    sets = _kernels.WorkingSets(problem, 1.0, True)
    with pytest.raises(ValueError, match=message):
        sets.restore(n, np.array(labellings, np.uint16), np.array(alpha))
    sets.restore(0, np.array([[1, 1], [0, 1]], np.uint16), np.array([0.5, 0.25]))  # the second is the true one
    labels, weights = sets.block(0)
    assert (labels.tolist(), weights.tolist()) == ([[1, 1]], [0.5])
