"""Training further: partial_fit and warm_start, from a model just fitted or loaded, on data that fit it or do not."""

import copy

import numpy as np
import pytest
import torch
from learners import make

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import StructuralSVM, UnaryClassifier, load

FAST = {"C": 100.0, "trainer__learning_rate": 0.02, "max_iter": 4}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


@pytest.fixture(scope="module")
def fitted_once(chains):
    return make(StructuralSVM, (4,), (4,), **FAST).fit(*chains)


@pytest.fixture
def fitted(fitted_once):
    return copy.deepcopy(fitted_once)


def parameters(estimator):
    return torch.cat([p.detach().flatten() for p in estimator.model_.parameters()])


def below(chains, n_labels):
    """The chains with labels below `n_labels` only."""
    X, Y = chains
    return X, [np.minimum(y, n_labels - 1) for y in Y]


def test_partial_fit_continues(chains):
    svm = make(StructuralSVM, (), (), **FAST)
    for _ in range(5):
        svm.partial_fit(*chains, n_labels=4)
    assert svm.n_labels_ == 4
    assert len(svm.history_) == 5
    assert svm.history_[-1]["objective"] < svm.history_[0]["objective"]
    assert svm.score(*chains) > 0.6


def test_partial_fit_continues_a_loaded_model(chains, fitted, tmp_path):
    fitted.save(tmp_path)
    loaded = load(tmp_path, trainer__learning_rate=1e-6)
    loaded.partial_fit(*below(chains, 2))
    assert loaded.n_labels_ == 3
    torch.testing.assert_close(parameters(loaded), parameters(fitted), atol=1e-4, rtol=0)
    assert [record["epoch"] for record in loaded.history_] == [1, 2, 3, 4, 5]


def test_partial_fit_after_fit_has_the_full_rate(chains, fitted):
    """The cosine of `fit` has come down to zero."""
    before = parameters(fitted)
    fitted.partial_fit(*chains)
    assert all(group["lr"] == FAST["trainer__learning_rate"] for group in fitted.descent_.optimizer.param_groups)
    assert (parameters(fitted) - before).abs().max() > 0.01
    assert len(fitted.history_) == 5


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop", torch.optim.SGD])
def test_partial_fit_takes_changed_parameters_and_keeps_the_optimiser(chains, optimizer):
    svm = make(StructuralSVM, (), (), **{**FAST, "trainer__optimizer": optimizer}).partial_fit(*chains)
    running, history = svm.descent_.optimizer, svm.history_
    changed = {"C": 7.0, "interaction_C": 3.0, "trainer__learning_rate": 0.5, "trainer__momentum": 0.3,
               "class_weight": [1.0, 2.0, 3.0], "decoder__method": "icm", "batch_size": 4,
               "void": "complete"}  # fmt: skip
    svm.set_params(**changed).partial_fit(*chains)
    assert svm.descent_.optimizer is running
    assert svm.history_ is history
    assert len(history) == 2
    assert [group["lr"] for group in running.param_groups] == [0.5, 0.5]
    assert [group.get("momentum", 0.3) for group in running.param_groups] == [0.3, 0.3]
    assert svm.descent_.settings.C == (7.0, 3.0)
    assert (svm.C_, svm.interaction_C_, svm.learning_rate_, svm.batch_size_) == (7.0, 3.0, 0.5, 4)
    assert (svm.descent_.settings.batch_size, svm.descent_.settings.void) == (4, "complete")
    assert svm.descent_.class_weight.tolist() == [1.0, 2.0, 3.0]
    assert svm.descent_.decoder.method == "icm"


def test_changed_parameters_have_their_effect(chains):
    svm = make(StructuralSVM, (), (), **FAST).partial_fit(*chains)
    before = parameters(svm).clone()
    svm.set_params(trainer__learning_rate=1e-9).partial_fit(*chains)
    torch.testing.assert_close(parameters(svm), before, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "changed", [{"trainer__optimizer": "rmsprop"}, {"trainer__averaging": "linear"}, {"trainer__momentum": 0.0}]
)
def test_another_optimiser_or_average_begins_anew(chains, changed):
    svm = make(StructuralSVM, (), (), **{**FAST, "trainer__optimizer": "sgd"}).partial_fit(*chains)
    running, before = svm.descent_.optimizer, parameters(svm).clone()
    svm.set_params(trainer__learning_rate=1e-9, **changed).partial_fit(*chains)
    assert svm.descent_.optimizer is not running
    torch.testing.assert_close(parameters(svm), before, atol=1e-4, rtol=0)
    assert [record["epoch"] for record in svm.history_] == [1, 2]


@pytest.mark.parametrize("averaging", ["uniform", "linear"])
def test_partial_fit_shows_the_average_and_goes_on_from_the_iterate(chains, averaging):
    options = {**FAST, "trainer__schedule": "constant", "trainer__keep": "last"}
    whole = make(StructuralSVM, (), (), trainer__averaging=averaging, **options).fit(*chains)
    svm, plain = (
        make(StructuralSVM, (), (), trainer__averaging=averaging, **options),
        make(StructuralSVM, (), (), **options),
    )
    for _ in range(FAST["max_iter"]):
        svm.partial_fit(*chains).predict(chains[0])
        plain.partial_fit(*chains)
    assert torch.equal(parameters(svm), parameters(whole))
    assert not torch.equal(parameters(svm), parameters(plain))
    own = torch.cat([value.flatten() for value in svm.descent_.iterates.own_values])
    assert torch.equal(own, parameters(plain))


def test_unfit_changes_are_refused(chains, fitted):
    with pytest.raises(ValueError, match="class_weight needs 3 entries"):
        fitted.set_params(class_weight=[1.0]).partial_fit(*chains)


@pytest.mark.parametrize("train", [StructuralSVM.partial_fit, StructuralSVM.fit])
def test_graphs_without_edges_fit_any_model(fitted, train):
    rng = np.random.default_rng(0)
    X = [Graph(rng.normal(size=(2, 3))) for _ in range(4)]
    fitted.n_edge_features_ = 5  # of which these graphs know nothing
    train(fitted.set_params(warm_start=True), X, [[0, 1]] * 4)
    assert fitted.n_edge_features_ == 5


def test_balanced_classes_need_all_labels(chains):
    for estimator in (StructuralSVM((), (), class_weight="balanced"), UnaryClassifier(class_weight="balanced")):
        with pytest.raises(ValueError, match='class_weight="balanced" needs all labels at once, which partial_fit'):
            estimator.partial_fit(*chains)
    StructuralSVM((), (), class_weight=[1.0, 2.0, 1.0]).partial_fit(*chains)


def test_warm_start_continues(chains):
    svm = make(StructuralSVM, (), (), warm_start=True, **FAST).fit(*chains)
    objective = svm.history_[0]["objective"]
    assert svm.fit(*chains).history_[0]["objective"] < objective


def test_warm_start_keeps_labels_that_do_not_occur(chains, fitted, tmp_path):
    fitted.set_params(warm_start=True).fit(*below(chains, 2)).save(tmp_path)
    assert load(tmp_path).n_labels_ == 3


@pytest.mark.parametrize("train", [StructuralSVM.partial_fit, StructuralSVM.fit])
def test_what_does_not_fit_the_model_is_refused(chains, fitted, train):
    X, Y = chains
    svm, before = fitted.set_params(warm_start=True), parameters(fitted)
    cases = [
        (X, [*Y[:-1], Y[-1] + 2], "the model to continue has 3 labels, but 5 are needed: start again with n_labels=5"),
        ([Graph(x.node_features[:, :2], x.edges) for x in X], Y, "X has 2 node features, but .* fitted with 3"),
        (
            [Graph(x.node_features, x.edges, np.ones((x.n_edges, 2))) for x in X],
            Y,
            "X has 2 edge features, but StructuralSVM was fitted with 0",
        ),
    ]
    for graphs, labels, message in cases:
        with pytest.raises(ValueError, match=message):
            train(svm, graphs, labels)
    assert svm.n_labels_ == svm.n_node_features_ == 3
    assert torch.equal(parameters(svm), before)


def test_a_refused_fit_leaves_the_model_whole(chains, fitted, tmp_path):
    with pytest.raises(ValueError, match="class_weight needs 2 entries"):
        fitted.set_params(class_weight=[1.0]).fit(*below(chains, 2))
    fitted.save(tmp_path)
    assert load(tmp_path).n_labels_ == 3


@pytest.mark.parametrize(
    "change",
    [
        {"unary__hidden": (5,)},
        {"unary__activation": "relu"},
        {"interaction__dropout": 0.1},
    ],
)
def test_factors_that_parameters_no_longer_describe(chains, fitted, tmp_path, change):
    """They could be saved but not loaded, and a change that training ignores is no change."""
    fitted.set_params(warm_start=True, **change)
    for use, arguments in ((fitted.save, [tmp_path / "model"]), (fitted.fit, chains), (fitted.partial_fit, chains)):
        with pytest.raises(ValueError, match=rf"the fitted factors have a different {next(iter(change))}: set it back"):
            use(*arguments)
    assert not (tmp_path / "model").exists()
    fitted.set_params(unary__hidden=[4], unary__activation="tanh", interaction__dropout=0.0).save(tmp_path / "model")
    assert torch.equal(parameters(load(tmp_path / "model")), parameters(fitted))
