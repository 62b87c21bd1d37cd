"""StructuralSVM: it learns, repeats itself, composes with scikit-learn, saves, stops, and refuses nonsense."""

import numpy as np
import pytest
import torch
from learners import FAST, make, parameters
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from torch import nn

from neuralfactors import Graph
from neuralfactors.datasets import make_chains, make_grids, make_synergy
from neuralfactors.estimators import Network, StructuralSVM, Subgradient, UnaryClassifier


def test_interactions_help(chains):
    X, Y = make_chains(60, 8, 4, noise=1.2, random_state=1)
    X_test, Y_test = make_chains(60, 8, 4, noise=1.2, random_state=2)
    joint = (
        make(StructuralSVM, (), (), C=100.0, trainer__learning_rate=0.05, max_iter=30).fit(X, Y).score(X_test, Y_test)
    )
    alone = UnaryClassifier().fit(X, Y).score(X_test, Y_test)
    assert joint > alone + 0.15


def test_grids_with_edge_features():
    X, Y = make_grids(20, 6)
    X_test, Y_test = make_grids(20, 6, random_state=1)
    svm = make(StructuralSVM, (), (), C=100.0, trainer__learning_rate=0.05, max_iter=25).fit(X, Y)
    assert svm.score(X_test, Y_test) > UnaryClassifier().fit(X, Y).score(X_test, Y_test) + 0.15
    assert svm.history_[-1]["hinge"] < svm.history_[0]["hinge"]


def test_integrated_training_beats_bifurcated():
    """The unary classifier alone sees half of what it must tell; trained with the interactions, it need not."""
    X, Y = make_synergy(60, 8)
    X_test, Y_test = make_synergy(60, 8, random_state=1)
    options = {"C": 300.0, "trainer__learning_rate": 0.02, "max_iter": 30}
    bifurcated = make_pipeline(UnaryClassifier(), make(StructuralSVM, (), (16,), **options)).fit(X, Y)
    integrated = make(StructuralSVM, (16,), (16,), **options).fit(X, Y)
    assert integrated.score(X_test, Y_test) > bifurcated.score(X_test, Y_test) + 0.1


def test_fit_twice_gives_the_same(chains):
    svm = make(StructuralSVM, (4,), (4,), **FAST)
    first = parameters(svm.fit(*chains)).clone()
    assert torch.equal(first, parameters(svm.fit(*chains)))
    assert torch.equal(first, parameters(clone(svm).fit(*chains)))
    assert not torch.equal(first, parameters(clone(svm).set_params(random_state=1).fit(*chains)))


def test_fit_leaves_the_global_generators_alone(chains):
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    make(StructuralSVM, (4,), (4,), unary__dropout=0.2, interaction__dropout=0.2, **FAST).fit(*chains)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)


LITERAL = {"C": 100.0, "batch_size": None, "trainer__optimizer": "sgd", "trainer__schedule": "inverse",
           "trainer__learning_rate": 3.0, "trainer__momentum": 0.0, "trainer__dtype": "float64"}  # fmt: skip


def test_full_batch_keeps_the_best_objective(chains):
    """Record t is of the iterate before update t; a run that goes on has that of the last one, too."""
    objectives = [r["objective"] for r in make(StructuralSVM, (), (), max_iter=16, **LITERAL).fit(*chains).history_]
    assert objectives != sorted(objectives, reverse=True), "the test wants a run whose objective also rises"
    for max_iter in range(1, 16):
        svm = make(StructuralSVM, (), (), max_iter=max_iter, **LITERAL).fit(*chains)
        best = 1 + int(np.argmin(objectives[1 : max_iter + 1]))
        assert torch.equal(
            parameters(svm), parameters(clone(svm).set_params(max_iter=best, trainer__keep="last").fit(*chains))
        )


@pytest.mark.parametrize("batch_size", [None, 30, 100])
def test_one_step_an_epoch_trains_whatever_the_batch_size(chains, batch_size):
    svm = make(StructuralSVM, (), (), **{**LITERAL, "batch_size": batch_size, "max_iter": 1}).fit(*chains)
    last = clone(svm).set_params(trainer__keep="last").fit(*chains)
    assert parameters(svm).abs().sum() > 0
    assert torch.equal(parameters(svm), parameters(last))


def test_paper_rate_momentum_and_regulariser_by_hand(chains):
    """Two steps of Algorithm 1 written out: w ← w − μ/(t₀ + t) v with v ← m v + w + C ∇hinge."""
    X, Y = [Graph([[1.0]])], [[0]]
    trainer = Subgradient(
        optimizer="sgd", schedule="inverse", learning_rate=0.3, t0=2.0, momentum=0.5, keep="last", dtype="float64"
    )
    linear = Network(bias=False)
    svm = StructuralSVM(linear, linear, n_labels=2, C=2.0, batch_size=None, max_iter=2, trainer=trainer)
    w = svm.fit(X, Y).model_.unary.weight.detach()[:, 0]
    gradient = 2.0 * torch.tensor([-1.0, 1.0]).double()
    first = -0.1 * gradient
    velocity = 0.5 * gradient + first + gradient
    torch.testing.assert_close(w, first - 0.3 / 4.0 * velocity)


def test_separate_settings_for_interactions(chains):
    svm = make(StructuralSVM, (), (), interaction_C=1e-6, **{**FAST, "trainer__optimizer": "sgd"}).fit(*chains)
    assert svm.model_.interaction.bias.abs().max() < 1e-3 * svm.model_.unary.weight.abs().max()
    trainer = Subgradient(interaction_learning_rate=0.5, interaction_momentum=0.1)
    settings = StructuralSVM(trainer=trainer, interaction_C=3.0)._settings()
    assert (trainer.learning_rates, trainer.momenta, settings.C) == (("auto", 0.5), (0.9, 0.1), ("auto", 3.0))


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "adagrad", "sgd", torch.optim.NAdam])
def test_optimisers(chains, optimizer):
    svm = make(
        StructuralSVM, (), (), C=10.0, trainer__learning_rate=0.01, trainer__optimizer=optimizer, max_iter=5
    ).fit(*chains)
    assert svm.history_[-1]["objective"] < svm.history_[0]["objective"]


def test_modules_in_place_of_factors(chains):
    unary = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    before = [p.detach().clone() for p in unary.parameters()]
    svm = make(StructuralSVM, interaction__hidden=(), unary=unary, **FAST).fit(*chains)
    assert all(torch.equal(p, q) for p, q in zip(before, unary.parameters(), strict=True)), (
        "the given module is trained"
    )
    assert svm.score(*chains) > 0.6


def test_void_nodes_carry_no_loss(chains):
    X, Y = chains
    Y_void = [y.copy() for y in Y]
    X_wild = []
    for graph, y in zip(X, Y_void, strict=True):
        y[2] = -1
        features = graph.node_features.copy()
        features[2] = 1e3
        X_wild.append(graph.with_node_features(features))
    svm = make(StructuralSVM, (), (), void="drop", **FAST)
    with pytest.warns(UserWarning, match="60% of the edges are left"):
        expected = parameters(svm.fit(X, Y_void)).clone()
    with pytest.warns(UserWarning, match="60% of the edges are left"):
        svm.fit(X_wild, Y_void)
    assert torch.equal(expected, parameters(svm))
    assert svm.set_params(void="complete").fit(X, Y_void).score(X, Y_void) > 0.6


def test_wholly_void_graphs_and_graphs_without_edges_are_fine(chains):
    X, Y = chains
    X, Y = [*X, X[0], Graph(np.ones((1, 3)))], [*Y, np.full(6, -1), np.array([0])]
    assert make(StructuralSVM, (), (), **FAST).fit(X, Y).score(X, Y) > 0.6


def test_class_missing_from_a_fold_is_fine(chains):
    X, Y = chains
    svm = make(StructuralSVM, (), (), n_labels=5, class_weight="balanced", **FAST).fit(X, Y)
    assert svm.potentials(X[:1])[0].unary.shape == (6, 5)
    gap = [np.where(y == 1, 2, y) for y in Y]
    assert make(StructuralSVM, (), (), **FAST).fit(X, gap).n_labels_ == 3


def test_class_and_node_weights_count():
    X, Y = [Graph(np.ones((3, 1)), node_weight=[10.0, 1.0, 1.0])], [[0, 1, 1]]
    svm = make(StructuralSVM, (), (), class_weight=[1.0, 2.0], batch_size=None, **FAST).fit(X, Y)
    assert svm.history_[0]["hinge"] == pytest.approx(14.0)  # at the start every node is wrong
    balanced = clone(svm).set_params(class_weight="balanced").fit(X, Y)
    assert balanced.history_[0]["hinge"] == pytest.approx(1.5 * 10.0 + 0.75 * 2)
    right = svm.predict(X)[0] == Y[0]
    assert svm.score(X, Y) == pytest.approx((right @ [10.0, 1.0, 1.0]) / 12.0)


def test_decision_is_what_predict_maximises(chains):
    X, Y = chains
    svm = make(StructuralSVM, (), (), **FAST).fit(X, Y)
    potentials, y_pred = svm.potentials(X), svm.predict(X)
    for p, y in zip(potentials[:3], y_pred[:3], strict=True):
        best = max(float(p.score(z)) for z in torch.cartesian_prod(*[torch.arange(3)] * 6))
        assert float(p.score(torch.from_numpy(y))) == pytest.approx(best, rel=1e-4)


def test_decision_function_holds_the_max_marginals_of_forests(chains):
    X, Y = chains
    svm = make(StructuralSVM, (), (), **FAST).fit(X, Y)
    labellings = torch.cartesian_prod(*[torch.arange(3)] * 6)
    for p, scores, y in zip(svm.potentials(X[:3]), svm.decision_function(X[:3]), svm.predict(X[:3]), strict=True):
        values = np.array([float(p.score(z)) for z in labellings])
        for a in range(3):
            best = [values[(labellings[:, i] == a).numpy()].max() for i in range(6)]
            np.testing.assert_allclose(scores[:, a], best - values.max(), atol=1e-4)
        np.testing.assert_array_equal(scores.argmax(axis=1), y)


def test_decision_function_of_unary_factors_is_their_score(chains):
    X, Y = chains
    unary = make(UnaryClassifier, max_iter=3).fit(X, Y)
    for potentials, scores in zip(unary.potentials(X), unary.decision_function(X), strict=True):
        np.testing.assert_array_equal(scores, potentials.unary)


def test_averaging(chains):
    averaged = make(StructuralSVM, (), (), trainer__averaging="linear", **FAST).fit(*chains)
    assert not torch.equal(
        parameters(averaged), parameters(clone(averaged).set_params(trainer__averaging=None).fit(*chains))
    )
    assert averaged.score(*chains) > 0.6


class Masked(nn.Linear):
    """Scores of labels, the last of which is allowed at no node whose first feature is positive."""

    def forward(self, features):
        forbidden = nn.functional.one_hot(torch.tensor(self.out_features - 1)) * (features[:, :1] > 0)
        return super().forward(features).masked_fill(forbidden.bool(), -torch.inf)


def test_forbidden_true_labels_are_refused_in_training():
    features = [np.array([[1.0], [-1.0]]), np.array([[-1.0], [1.0]])]
    X = [Graph(rows, [[0, 1]]) for rows in features]
    svm = StructuralSVM(unary=Masked(1, 2), max_iter=2)
    assert np.isfinite(svm.fit(X, [[0, 1], [1, 0]]).history_[-1]["objective"])
    with pytest.raises(ValueError, match="node 1 of graph 0 in the batch has true label 1, which a potential of −inf"):
        svm.set_params(batch_size=1).fit(X, [[0, 1], [1, 1]])


def test_every_method_of_inference_serves():
    X, Y = make_grids(3, 3)
    scores = {}
    for method in ("exact", "exhaustive"):
        svm = make(StructuralSVM, (), (), decoder__method=method, **FAST).fit(X, [*Y[:-1], np.full(9, -1)])
        scores[method] = svm.history_[-1]["objective"], svm.score(X, Y)
    assert scores["exact"] == pytest.approx(scores["exhaustive"], rel=1e-4)


def test_interactions_of_third_order():
    """The parity of three nodes is given, and two of them: only a factor over all three tells the last."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(30):
        y = rng.integers(2, size=6)
        triples = np.array([[0, 1, 2], [3, 4, 5]])
        parity = 2.0 * (y[triples].sum(axis=1) % 2) - 1.0
        hints = (2.0 * y - 1.0)[:, None] * np.array([1, 1, 0, 1, 1, 0])[:, None]
        X.append(Graph(hints, triples, parity[:, None], order=3))
        Y.append(y)
    svm = make(StructuralSVM, (), (), C=100.0, trainer__learning_rate=0.05, max_iter=15).fit(X, Y)
    assert svm.order_ == 3
    assert svm.model_.interaction.weight.shape == (8, 1)
    assert svm.score(X, Y) == 1.0
    assert UnaryClassifier().fit(X, Y).score(X, Y) < 0.9
