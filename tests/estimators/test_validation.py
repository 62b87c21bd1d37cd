"""Validation data, given or held out: they decide what is kept, and are refused where they cannot judge."""

import numpy as np
import pytest
from learners import make

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import StructuralSVM
from neuralfactors.estimators._validation import hold_out
from neuralfactors.learning._training_graphs import Samples

FAST = {"C": 100.0, "trainer__learning_rate": 0.02, "max_iter": 8}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


def test_validation_decides_what_is_kept(chains, monkeypatch):
    X, Y = chains
    svm = make(StructuralSVM, (), (), trainer__keep="validation", **FAST).fit(
        X[:20], Y[:20], validation=(X[20:], Y[20:])
    )
    accuracies = [record["accuracy"] for record in svm.history_]
    assert svm.score(X[20:], Y[20:]) == max(accuracies)
    monkeypatch.setattr("neuralfactors.learning._descent.IMPROVEMENT", 0.5)
    held = make(
        StructuralSVM,
        (),
        (),
        trainer__keep="validation",
        trainer__validation_fraction=0.3,
        trainer__patience=2,
        **FAST,
    ).fit(X, Y)
    assert len(held.history_) == 3


@pytest.mark.parametrize("batch_size", [None, 4])
def test_the_first_epoch_can_be_the_best(chains, batch_size):
    options = {**FAST, "max_iter": 1, "batch_size": batch_size, "trainer__keep": "validation"}
    svm = make(StructuralSVM, (), (), **options).fit(*chains, validation=chains)
    assert any(parameter.any() for parameter in svm.model_.parameters())
    assert svm.score(*chains) == svm.history_[0]["accuracy"]


def test_bad_validation_data_are_refused_before_training(chains):
    X, Y = chains
    epochs = []
    svm = make(StructuralSVM, (), (), callbacks=[epochs.append], **FAST)
    cases = [
        (X, r"validation must be a pair \(X, Y\) of graphs and labels, got list"),
        (([], []), "validation data: X must contain at least one Graph, got none"),
        ((X, Y[:-1]), "validation data: Y needs one label vector per graph: expected 30, got 29"),
        ((X, [np.full(6, -1)] * 30), "validation data: Y must label at least one node, but all nodes are void"),
        (([Graph(np.ones((2, 2)))], [[0, 1]]), "validation data have 2 node features, but X has 3"),
        (([Graph(np.ones((2, 3)), [[0, 1]], [[1.0]])], [[0, 1]]), "validation data have 1 edge features, but X has 0"),
    ]
    for validation, message in cases:
        with pytest.raises(ValueError, match=message):
            svm.fit(X, Y, validation=validation)
    assert not epochs


def test_what_is_held_out_is_not_learnt_from():
    graphs = [Graph([[float(n)]]) for n in range(30)]
    samples = Samples.check(graphs, [[n % 2] for n in range(30)], sample_weight=np.arange(30.0))
    kept, (X, Y) = hold_out(samples, 0.2, seed=3)
    numbers = [[int(graph.node_features[0, 0]) for graph in part] for part in (kept.X, X)]
    assert [len(part) for part in numbers] == [24, 6]
    joined = np.concatenate(numbers)
    assert sorted(joined) == list(range(30))
    np.testing.assert_array_equal(np.concatenate([*kept.Y, *Y]), joined % 2)
    assert kept.weight.tolist() == numbers[0]


@pytest.mark.parametrize("names", [np.arange(3), np.array(["a", "b", "c"])])
def test_a_class_that_only_held_out_graphs_show_is_a_class(names):
    X, Y = [Graph([[1.0], [-1.0]], [[0, 1]])] * 10, [names[[1, 0]]] * 10
    for n in range(10):
        some = [names[[2, 2]] if k == n else y for k, y in enumerate(Y)]
        svm = make(StructuralSVM, (), (), trainer__validation_fraction=0.5, **FAST).fit(X, some)
        assert svm.classes_.tolist() == names.tolist()


def test_labels_are_needed_on_both_sides():
    X, Y = [Graph([[1.0], [-1.0]])] * 2, [[0, 1], [-1, -1]]
    with pytest.raises(ValueError, match=r"validation_fraction=0.5 of 2 graphs leaves none with labels to learn from"):
        make(StructuralSVM, (), (), trainer__validation_fraction=0.5, **FAST).fit(X, Y)
