"""Hidden states and hidden nodes: prediction against enumeration, and problems that plain models cannot solve."""

import itertools
import json
import warnings

import numpy as np
import pytest
import torch

from neuralfactors import Graph, grid_edges, grid_graph, point_graphs
from neuralfactors._common.files import FileFormatError
from neuralfactors.datasets import make_boxes, make_crosses
from neuralfactors.estimators import CuttingPlaneSVM, FrankWolfeSVM, LatentSVM, StructuralSVM, load
from neuralfactors.estimators._latent import _with_costs_of_states

BASE = StructuralSVM((), (), max_iter=30)


@pytest.fixture(scope="module")
def crosses():
    X, Y = make_crosses(20, size=8, n_crosses=1, noise=5)
    return [grid_graph(x) for x in X], list(Y.reshape(20, -1))


@pytest.fixture(scope="module")
def middle():
    """Points whose label is 1 in the middle of a line, which no linear score can tell."""
    X = np.array([[-2.0], [0.0], [2.0]] * 10)
    return point_graphs(X), (X == 0).astype(int)


@pytest.mark.parametrize("learner", ["alternate", "subgradient"])
def test_states_tell_what_no_linear_score_can(middle, learner):
    assert StructuralSVM((), (), max_iter=30).fit(*middle).score(*middle) < 0.7
    latent = LatentSVM([2, 1], base=BASE, learner=learner, max_iter=5 if learner == "alternate" else 40).fit(*middle)
    assert latent.score(*middle) == 1.0
    assert latent.state_label_.tolist() == [0, 0, 1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_middle_of_a_cross_becomes_a_state(crosses):
    X, Y = crosses
    plain = FrankWolfeSVM(C=100.0).fit(X[:10], Y[:10])
    latent = LatentSVM([1, 2], base=FrankWolfeSVM(C=100.0)).fit(X[:10], Y[:10])
    assert latent.score(X[10:], Y[10:]) > plain.score(X[10:], Y[10:])
    middles = [np.bincount(states, minlength=3)[1:].min() for states in latent.predict_states(X, Y)]
    assert np.mean(np.array(middles) == 1) > 0.8


@pytest.mark.parametrize("class_weight", [None, "balanced", np.array([[0, 3.0, 1], [1, 0, 0.5], [2, 1, 0]])])
def test_loss_augmented_predictions_are_the_best_of_all_states(chains, class_weight):
    X, Y = [graph.subgraph(np.arange(graph.n_nodes) < 5) for graph in chains[0][:6]], [y[:5] for y in chains[1][:6]]
    Y[0] = np.where(np.arange(5) == 2, -1, Y[0])  # a hidden node costs nothing
    base = StructuralSVM((), (), max_iter=3, C=100.0, class_weight=class_weight)
    latent = LatentSVM([2, 1, 1], base=base, max_iter=1).fit(X, Y)
    label = latent.state_label_
    costs = latent.base_.class_weight[np.searchsorted(label, np.arange(3))]  # of every state where a label is right
    for graph, y, labels in zip(X, Y, latent.loss_augmented_predict(X, Y), strict=True):
        (potentials,) = latent.base_.potentials([graph])
        states = np.array(list(itertools.product(range(4), repeat=5)))
        scores = np.array([float(potentials.score(torch.from_numpy(z))) for z in states])
        scores += np.where(y >= 0, costs[np.maximum(y, 0), states], 0.0).sum(axis=1)
        assert scores[(label[states] == labels).all(axis=1)].max() == pytest.approx(scores.max(), abs=1e-4)


def test_predictions_are_the_best_of_all_states(chains):
    X, Y = chains
    latent = LatentSVM([2, 1, 1], base=StructuralSVM((), (), max_iter=3, C=100.0), max_iter=1).fit(X, Y)
    known = [np.where(np.arange(len(y)) % 2, -1, y) for y in Y]
    for graph, given, states in zip(X[:4], known, latent.predict_states(X, known), strict=False):
        (potentials,) = latent.base_.potentials([graph])
        labels = latent.state_label_[states]
        assert (labels[given >= 0] == given[given >= 0]).all()
        allowed = [np.flatnonzero((latent.state_label_ == y) | (y < 0)) for y in given]
        best = max(float(potentials.score(torch.tensor(z))) for z in itertools.product(*allowed))
        assert float(potentials.score(torch.from_numpy(states))) == pytest.approx(best, rel=1e-5)


def test_hidden_nodes_carry_no_cost_and_join_what_belongs_together():
    X, Y = make_boxes(20, random_state=1)
    quarters = [(16 + 2 * a + b, 4 * (2 * a + i) + 2 * b + j) for a, b, i, j in itertools.product((0, 1), repeat=4)]
    kinds = np.repeat(np.eye(2), [len(grid_edges(4, 4)), 16], axis=0)
    graphs = []
    for x in X:
        features = np.zeros((20, 3))
        features[:16, :2], features[16:, 2] = x.reshape(16, 2), 1
        graphs.append(Graph(features, np.concatenate([grid_edges(4, 4), quarters]), kinds))
    labels = [np.concatenate([y.ravel(), np.full(4, -1)]) for y in Y]
    plain = FrankWolfeSVM(C=20.0).fit([grid_graph(x) for x in X], Y.reshape(20, -1))
    assert plain.score([grid_graph(x) for x in X], Y.reshape(20, -1)) < 1.0
    assert LatentSVM(1, base=FrankWolfeSVM()).fit(graphs, labels).score(graphs, labels) == 1.0


def test_class_weight_names_labels_where_each_has_one_state(chains):
    Y = [np.array(["a", "b", "c"])[y] for y in chains[1]]
    base = StructuralSVM((), (), max_iter=1, class_weight={"b": 2.0})
    latent = LatentSVM(1, base=base, max_iter=1).fit(chains[0], Y)
    assert np.asarray(latent.base_.class_weight).tolist() == [1.0, 2.0, 1.0]


def test_states_of_a_label_cost_nothing_among_themselves(chains):
    latent = LatentSVM([2, 1, 1], base=StructuralSVM((), (), max_iter=1, class_weight=[1.0, 2.0, 3.0]), max_iter=1)
    costs = np.asarray(latent.fit(*chains).base_.class_weight)
    assert costs.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 0, 2], [3, 3, 3, 0]]


@pytest.mark.parametrize("base", [FrankWolfeSVM(C=5.0, tol=0.05), StructuralSVM((), (), max_iter=5, C=5.0)])
def test_files_bring_the_model_back(chains, base, tmp_path):
    X, Y = chains
    latent = LatentSVM([2, 1, 1], base=base, max_iter=2, random_state=3).fit(X, Y)
    latent.save(tmp_path)
    again = load(tmp_path)
    for ours, theirs in zip(latent.predict_states(X), again.predict_states(X), strict=True):
        assert (ours == theirs).all()
    assert (again.n_states, again.max_iter, again.random_state) == ((2, 1, 1), 2, 3)
    assert (again.n_iter_, again.base_.history_) == (latent.n_iter_, latent.base_.history_)
    assert again.part("base").plain_params() == latent.part("base").plain_params()
    assert again.fit(X, Y).score(X, Y) == latent.fit(X, Y).score(X, Y)


def test_files_hold_the_names_of_labels(chains, tmp_path):
    names = [np.array(["a", "b", "c"])[y] for y in chains[1]]
    latent = LatentSVM(1, base=FrankWolfeSVM(tol=0.1), warm_start=True).fit(chains[0], names)
    latent.save(tmp_path)
    again = LatentSVM.load(tmp_path)
    assert again.classes_.tolist() == ["a", "b", "c"]
    assert again.score(chains[0], names) == latent.score(chains[0], names)
    assert again.fit(chains[0], names).classes_.tolist() == ["a", "b", "c"]


def test_files_of_other_estimators_are_refused(chains, tmp_path):
    FrankWolfeSVM(tol=0.1).fit(*chains).save(tmp_path)
    with pytest.raises(FileFormatError, match="contains a 'FrankWolfeSVM', not a LatentSVM"):
        LatentSVM.load(tmp_path)
    LatentSVM(1, base=FrankWolfeSVM(tol=0.1)).fit(*chains).save(tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    with pytest.raises(FileFormatError, match="contains a 'LatentSVM', not a FrankWolfeSVM"):
        FrankWolfeSVM.load(tmp_path)
    assert document["base"]["class"] == "FrankWolfeSVM"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_modules_are_given_again(chains, tmp_path):
    module = torch.nn.Linear(chains[0][0].node_features.shape[1], 4)
    LatentSVM([2, 1, 1], base=StructuralSVM(module, (), max_iter=1), max_iter=1).fit(*chains).save(tmp_path)
    with pytest.raises(ValueError, match="pass them to load again"):
        LatentSVM.load(tmp_path)
    assert len(LatentSVM.load(tmp_path, unary=module).predict(chains[0])) == len(chains[0])


def test_a_warm_start_begins_with_the_states_found(chains):
    base = FrankWolfeSVM(C=5.0, tol=1e-3, max_iter=500, warm_start=True)
    latent = LatentSVM(2, base=base, warm_start=True, max_iter=20).fit(*chains)
    rounds, states, objective = latent.n_iter_, latent.predict_states(*chains), latent.base_.objective_
    assert 1 < rounds < 20
    latent.fit(*chains)
    assert latent.n_iter_ == 1
    assert len(latent.base_.history_) == 1  # its constraints are kept as well
    assert latent.base_.objective_ == pytest.approx(objective, rel=1e-3)
    assert all((a == b).all() for a, b in zip(states, latent.predict_states(*chains), strict=True))
    with pytest.raises(ValueError, match=r"has states of the labels \[0, 0, 1, 1, 2, 2\], but \[0, 1, 2\] are needed"):
        latent.set_params(n_states=1).fit(*chains)


def test_the_default_learner_goes_by_how_it_learns(middle):
    for learner, kind in {"alternate": FrankWolfeSVM, "subgradient": StructuralSVM}.items():
        latent = LatentSVM([2, 1], learner=learner, max_iter=40)
        assert latent.fit(*middle).score(*middle) == 1.0
        assert type(latent.base_) is kind
        assert type(latent.set_params(base__C=5.0).base) is kind


def test_the_learner_and_an_option_of_its_base_may_be_set_at_once():
    latent = LatentSVM().set_params(base__C=5.0, learner="subgradient")
    assert type(latent.base) is StructuralSVM
    assert latent.base.C == 5.0
    assert type(LatentSVM(learner="subgradient").set_params(learner="alternate", base__C=5.0).base) is FrankWolfeSVM


def test_subgradient_learning_needs_a_base_that_takes_steps(chains):
    with pytest.raises(ValueError, match="needs a base with partial_fit, such as StructuralSVM, got FrankWolfeSVM"):
        LatentSVM(learner="subgradient", base=FrankWolfeSVM()).fit(*chains)


def test_costs_by_label_become_costs_by_state(chains):
    X = [Graph(x.node_features, x.edges, node_weight=np.arange(3.0) + np.zeros((x.n_nodes, 1))) for x in chains[0]]
    Y = [np.where(np.arange(len(y)) == 0, -1, y) for y in chains[1]]
    latent = LatentSVM([2, 1, 1], base=FrankWolfeSVM(tol=0.1), max_iter=1)
    costs = _with_costs_of_states(X[0], Y[0], latent.fit(X, Y)._known_states).node_weight
    assert costs[:2].tolist() == [[0, 0, 0, 0], [0, 0, 1, 2]]


def flipped_rows(n=30, seed=0):
    """Five nodes whose features are flipped in half of the graphs, and a hidden one of another type that knows."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        y, flip = rng.integers(2, size=5), rng.integers(2)
        features = (2.0 * (y ^ flip) - 1 + 0.1 * rng.normal(size=5))[:, None]
        X.append(Graph.of_types([features, [[2.0 * flip - 1]]], [(i, 5) for i in range(5)], features))
        Y.append([*y, -1])
    return X, Y


@pytest.mark.parametrize(
    "options",
    [{}, {"base": CuttingPlaneSVM()}, {"learner": "subgradient", "max_iter": 20}, {"n_states": [[1, 2], 2]}],
)
def test_hidden_nodes_may_be_of_a_type_of_their_own(options, tmp_path):
    X, Y = flipped_rows()
    assert LatentSVM(1).fit(X, Y).score(X, Y) < 0.9
    latent = LatentSVM(**{"n_states": [1, 2], **options}).fit(X, Y)
    assert latent.score(X, Y) == 1.0
    (labels,), (states,) = latent.predict(X[:1]), latent.predict_states(X[:1])
    assert [row.tolist() for row in latent.state_label_] == [[0, 1, 1] if "n_states" in options else [0, 1], [0, 0]]
    assert labels[5] == 0
    assert [latent.state_label_[k][s] for k, s in zip(X[0].node_types, states, strict=True)] == labels.tolist()
    (proba,) = latent.predict_proba(X[:1])
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert proba[5].tolist() == pytest.approx([1, 0])
    latent.save(tmp_path)
    for theirs, ours in zip(load(tmp_path).predict_proba(X), latent.predict_proba(X), strict=True):
        np.testing.assert_array_equal(theirs, ours)


@pytest.mark.parametrize("weights", [None, np.full(6, 2.0), np.array([[0.0, 3.0]] * 6)])
def test_states_of_types_are_completed_best_and_cost_by_label(weights):
    X, Y = flipped_rows(6)
    if weights is not None:
        X = [Graph(x.node_features, x.edges, x.edge_features, weights, node_types=x.node_types) for x in X]
    latent = LatentSVM([[2, 1], [2]], base=FrankWolfeSVM(tol=0.1), max_iter=1).fit(X, Y)
    costs = _with_costs_of_states(X[0], np.array(Y[0]), latent._known_states).node_weight
    right = np.array([0, 0, 1]) == np.array(Y[0])[:5, None]
    wrong = {1: ~right * 2.0, 2: np.array([[0.0, 0.0, 3.0]] * 5)}
    assert costs[:5].tolist() == (~right * 1.0 if weights is None else wrong[weights.ndim]).tolist()
    assert not costs[5].any()
    known = [[Y[0][0], -1, -1, Y[0][3], -1, -1]]
    (states,) = latent.predict_states(X[:1], known)
    (potentials,) = latent.base_.potentials(X[:1])
    labels = [latent.state_label_[kind] for kind in X[0].node_types]
    allowed = [np.flatnonzero((own == y) | (y < 0)) for own, y in zip(labels, known[0], strict=True)]
    best = max(float(potentials.score(torch.tensor(z))) for z in itertools.product(*allowed))
    assert float(potentials.score(torch.from_numpy(states))) == pytest.approx(best, rel=1e-5)


def test_a_warm_start_keeps_types_and_their_states():
    X, Y = flipped_rows()
    latent = LatentSVM([1, 2], base=FrankWolfeSVM(warm_start=True), warm_start=True).fit(X, Y)
    assert latent.fit(X, Y).n_iter_ == 1
    assert latent.score(X, Y) == 1.0
    with pytest.raises(
        ValueError, match=r"states of the labels \[\[0, 1\], \[0, 0\]\], but \[\[0, 1\], \[0\]\] are needed"
    ):
        latent.set_params(n_states=1).fit(X, Y)


@pytest.mark.parametrize(
    ("n_states", "message"),
    [
        ([2], r"n_states must be a number ≥ 1, or 2 entries, one per type of nodes, got \[2\]"),
        ([[1, 2, 3], 1], r"n_states\[0\] must be a number ≥ 1 or 2 of them, one per label, got \[1, 2, 3\]"),
    ],
)
def test_wrong_numbers_of_states_of_types_are_named(n_states, message):
    with pytest.raises(ValueError, match=message):
        LatentSVM(n_states).fit(*flipped_rows(4))
    latent = LatentSVM([1, 2], base=FrankWolfeSVM(tol=0.1), max_iter=1).fit(*flipped_rows(4))
    with pytest.raises(ValueError, match=r"known\[0\] has label 1 at node 5, but nodes of type 1 have 1 labels"):
        latent.predict(flipped_rows(1)[0], [[-1, -1, -1, -1, -1, 1]])
    with pytest.raises(ValueError, match="X has no node_types, but FrankWolfeSVM was fitted with them"):
        latent.predict([Graph(np.zeros((1, 1)))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": [1, 2]}, r"n_states must be a number ≥ 1 or 3 of them, one per label, got \[1, 2\]"),
        ({"n_states": 0}, "n_states must be a number ≥ 1"),
        ({"learner": "em"}, "learner must be one of"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_wrong_arguments_are_named(chains, options, message):
    with pytest.raises(ValueError, match=message):
        LatentSVM(**options).fit(*chains)


def test_warnings_of_the_base_are_given_once_where_fit_was_called():
    rng = np.random.default_rng(0)
    X = [Graph(rng.normal(size=(4, 2)), [[0, 1], [1, 2], [2, 3]]) for _ in range(6)]
    Y = [rng.integers(2, size=4) for _ in X]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        LatentSVM(2, base=FrankWolfeSVM(max_iter=2, tol=1e-9)).fit(X, Y)
    assert [each.filename for each in told] == [__file__]
    assert "stopped at max_iter=2" in str(told[0].message)
