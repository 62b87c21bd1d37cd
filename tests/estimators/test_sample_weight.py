"""A graph of weight 2 counts as two, one of weight 0 as none, whatever learns."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    MultiLabelClassifier,
    StructuralSVM,
    StructuredPerceptron,
    Subgradient,
    UnaryClassifier,
)

WHOLE = {"max_iter": 60, "batch_size": None, "C": 8.0}  # one step an epoch, so that the order does not matter
PLAIN = {"learning_rate": 0.01, "interaction_learning_rate": 0.01}
COUNTS = np.array([2, 0, 1, 3, 1, 1, 0, 2, 1, 1])


def descending(kind, **more):
    return kind(**more).set_params(**WHOLE, **{f"trainer__{name}": value for name, value in PLAIN.items()})


LEARNERS = [
    descending(StructuralSVM, unary=(), interaction=()),
    descending(StructuralSVM, unary=(4,), interaction=(3,)),
    descending(UnaryClassifier),
    CuttingPlaneSVM(C=8.0, tol=1e-5),
    CuttingPlaneSVM(C=8.0, tol=1e-3, slack="1"),
    FrankWolfeSVM(C=8.0, tol=1e-4),
    FrankWolfeSVM(C=8.0, tol=1e-3, bias=False),
]


def featured(X, sparse=False):
    rng = np.random.default_rng(0)
    make = csr_array if sparse else np.asarray
    return [Graph(make(x.node_features.astype(float)), x.edges, rng.normal(size=(x.n_edges, 2))) for x in X]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_count_graphs(learner, sparse):
    X, Y = make_chains(10, 4, 3, noise=0.9)
    X = featured(X, sparse)
    repeated = np.repeat(np.arange(10), COUNTS)
    # The loss is a mean over graphs: C makes up for their number.
    weighted = learner.set_params(C=8.0).fit(X, Y, COUNTS)
    scores = [p.unary.numpy() for p in weighted.potentials(X)]
    value = getattr(weighted, "objective_", None)
    twice = learner.set_params(C=8.0 * len(repeated) / 10).fit([X[n] for n in repeated], [Y[n] for n in repeated])
    tolerance = 1e-4 if value is None else 0.02
    np.testing.assert_allclose(
        np.concatenate(scores), np.concatenate([p.unary.numpy() for p in twice.potentials(X)]), atol=tolerance
    )
    if value is not None:
        assert value == pytest.approx(twice.objective_, rel=2e-3)


def test_a_perceptron_steps_by_weight():
    X, Y = make_chains(1, 4, 3, noise=0.9)
    steps = Subgradient(optimizer="sgd", learning_rate=1.0, momentum=0.0, schedule="constant", keep="last")
    once = StructuredPerceptron(max_iter=1, trainer=steps, batch_size=None)
    found = [once.fit(X, Y, weight).potentials(X)[0].unary.numpy() for weight in ([1.0], [3.0])]
    np.testing.assert_allclose(found[1], 3 * found[0], rtol=1e-5)


def test_score_weighs_the_nodes_of_a_graph():
    X, Y = make_chains(10, 4, 3, noise=0.9)
    model = UnaryClassifier(max_iter=5).fit(X, Y)
    each = np.array([model.score(X[n : n + 1], Y[n : n + 1]) for n in range(10)])
    assert model.score(X, Y, COUNTS) == pytest.approx(np.average(each, weights=COUNTS))


def test_points_of_several_labels_have_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X[:, :2] > 0).astype(int)
    weight = np.r_[np.ones(20), np.zeros(20)]
    Y[20:] = 1 - Y[20:]
    found = MultiLabelClassifier(hidden=()).fit(X, Y, weight)
    assert found.score(X[:20], Y[:20]) > 0.9


@pytest.mark.parametrize("fraction", [None, 0.2])
@pytest.mark.parametrize("weight", [[1.0] * 9, [1.0] * 11, [-1.0] * 10, [np.nan] * 10, [0.0] * 10])
def test_bad_weights_are_refused(weight, fraction):
    X, Y = make_chains(10, 4, 3)
    with pytest.raises(ValueError, match="sample_weight"):
        UnaryClassifier(trainer=Subgradient(validation_fraction=fraction)).fit(X, Y, weight)


def test_metadata_are_routed():
    X, Y = make_chains(10, 4, 3, noise=0.9)
    seen = []

    class Spy(UnaryClassifier):
        def fit(self, X, Y, sample_weight=None, **more):
            seen.append(sample_weight)
            return super().fit(X, Y, sample_weight, **more)

    with config_context(enable_metadata_routing=True):
        spy = Spy(max_iter=2).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        cross_validate(make_pipeline(spy), X, Y, cv=2, params={"sample_weight": COUNTS})
    np.testing.assert_array_equal(np.concatenate(seen), np.r_[COUNTS[5:], COUNTS[:5]])
