"""StructuralSVM: it learns, repeats itself, composes with scikit-learn, saves, stops, and refuses nonsense."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from torch import nn

from neuralfactors.datasets.chains import make_chains, make_grids, make_synergy
from neuralfactors.estimators import StructuralSVM, UnaryClassifier
from neuralfactors.files import FileFormatError
from neuralfactors.graph import Graph
from neuralfactors.persistence import load_model, save_model

FAST = {"C": 100.0, "learning_rate": 0.02, "max_iter": 8}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


def parameters(estimator):
    return torch.cat([p.detach().flatten() for p in estimator.model_.parameters()])


def test_interactions_help(chains):
    X, Y = make_chains(60, 8, 4, noise=1.2, random_state=1)
    X_test, Y_test = make_chains(60, 8, 4, noise=1.2, random_state=2)
    joint = StructuralSVM((), (), C=100.0, learning_rate=0.05, max_iter=30).fit(X, Y).score(X_test, Y_test)
    alone = UnaryClassifier().fit(X, Y).score(X_test, Y_test)
    assert joint > alone + 0.15


def test_grids_with_edge_features():
    X, Y = make_grids(20, 6)
    X_test, Y_test = make_grids(20, 6, random_state=1)
    svm = StructuralSVM((), (), C=100.0, learning_rate=0.05, max_iter=25).fit(X, Y)
    assert svm.score(X_test, Y_test) > UnaryClassifier().fit(X, Y).score(X_test, Y_test) + 0.15
    assert svm.history_[-1]["hinge"] < svm.history_[0]["hinge"]


def test_integrated_training_beats_bifurcated():
    """The unary classifier alone sees half of what it must tell; trained with the interactions, it need not."""
    X, Y = make_synergy(60, 8)
    X_test, Y_test = make_synergy(60, 8, random_state=1)
    options = {"C": 300.0, "learning_rate": 0.02, "max_iter": 30}
    bifurcated = make_pipeline(UnaryClassifier(), StructuralSVM((), (16,), **options)).fit(X, Y)
    integrated = StructuralSVM((16,), (16,), **options).fit(X, Y)
    assert integrated.score(X_test, Y_test) > bifurcated.score(X_test, Y_test) + 0.1


def test_fit_twice_gives_the_same(chains):
    svm = StructuralSVM((4,), (4,), **FAST)
    first = parameters(svm.fit(*chains)).clone()
    assert torch.equal(first, parameters(svm.fit(*chains)))
    assert torch.equal(first, parameters(clone(svm).fit(*chains)))
    assert not torch.equal(first, parameters(clone(svm).set_params(random_state=1).fit(*chains)))


def test_fit_leaves_the_global_generators_alone(chains):
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    StructuralSVM((4,), (4,), dropout=0.2, **FAST).fit(*chains)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)


LITERAL = {"C": 100.0, "optimizer": "sgd", "schedule": "inverse", "learning_rate": 3.0, "momentum": 0.0,
           "batch_size": None, "dtype": "float64"}  # fmt: skip


def test_full_batch_keeps_the_best_objective(chains):
    """Record t is of the iterate before update t; a run that goes on has that of the last one, too."""
    objectives = [r["objective"] for r in StructuralSVM((), (), max_iter=16, **LITERAL).fit(*chains).history_]
    assert objectives != sorted(objectives, reverse=True), "the test wants a run whose objective also rises"
    for max_iter in range(1, 16):
        svm = StructuralSVM((), (), max_iter=max_iter, **LITERAL).fit(*chains)
        best = 1 + int(np.argmin(objectives[1 : max_iter + 1]))
        assert torch.equal(parameters(svm), parameters(clone(svm).set_params(max_iter=best, keep="last").fit(*chains)))


@pytest.mark.parametrize("batch_size", [None, 30, 100])
def test_one_step_an_epoch_trains_whatever_the_batch_size(chains, batch_size):
    svm = StructuralSVM((), (), **{**LITERAL, "batch_size": batch_size, "max_iter": 1}).fit(*chains)
    last = clone(svm).set_params(keep="last").fit(*chains)
    assert parameters(svm).abs().sum() > 0
    assert torch.equal(parameters(svm), parameters(last))


def test_paper_rate_momentum_and_regulariser_by_hand(chains):
    """Two steps of Algorithm 1 written out: w ← w − μ/(t₀ + t) v with v ← m v + w + C ∇hinge."""
    X, Y = [Graph([[1.0]])], [[0]]
    svm = StructuralSVM((), (), bias=False, n_labels=2, C=2.0, optimizer="sgd", schedule="inverse", learning_rate=0.3,
                        t0=2.0, momentum=0.5, batch_size=None, max_iter=2, keep="last", dtype="float64")  # fmt: skip
    w = svm.fit(X, Y).model_.unary.weight.detach()[:, 0]
    gradient = 2.0 * torch.tensor([-1.0, 1.0]).double()
    first = -0.1 * gradient
    velocity = 0.5 * gradient + first + gradient
    torch.testing.assert_close(w, first - 0.3 / 4.0 * velocity)


def test_separate_settings_for_interactions(chains):
    svm = StructuralSVM((), (), interaction_C=1e-6, **{**FAST, "optimizer": "sgd"}).fit(*chains)
    assert svm.model_.interaction.bias.abs().max() < 1e-3 * svm.model_.unary.weight.abs().max()
    settings = StructuralSVM(interaction_learning_rate=0.5, interaction_momentum=0.1, interaction_C=3.0)._settings()
    assert (settings.learning_rate, settings.momentum, settings.C) == (("auto", 0.5), (0.9, 0.1), ("auto", 3.0))


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "adagrad", "sgd", torch.optim.NAdam])
def test_optimisers(chains, optimizer):
    svm = StructuralSVM((), (), C=10.0, learning_rate=0.01, optimizer=optimizer, max_iter=5).fit(*chains)
    assert svm.history_[-1]["objective"] < svm.history_[0]["objective"]


def test_modules_in_place_of_factors(chains):
    unary = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    before = [p.detach().clone() for p in unary.parameters()]
    svm = StructuralSVM(interaction_hidden=(), unary=unary, **FAST).fit(*chains)
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
    svm = StructuralSVM((), (), void="drop", **FAST)
    with pytest.warns(UserWarning, match="60% of the edges are left"):
        expected = parameters(svm.fit(X, Y_void)).clone()
    with pytest.warns(UserWarning, match="60% of the edges are left"):
        svm.fit(X_wild, Y_void)
    assert torch.equal(expected, parameters(svm))
    assert svm.set_params(void="complete").fit(X, Y_void).score(X, Y_void) > 0.6


def test_wholly_void_graphs_and_graphs_without_edges_are_fine(chains):
    X, Y = chains
    X, Y = [*X, X[0], Graph(np.ones((1, 3)))], [*Y, np.full(6, -1), np.array([0])]
    assert StructuralSVM((), (), **FAST).fit(X, Y).score(X, Y) > 0.6


def test_class_missing_from_a_fold_is_fine(chains):
    X, Y = chains
    svm = StructuralSVM((), (), n_labels=5, class_weight="balanced", **FAST).fit(X, Y)
    assert svm.decision(X[:1])[0].unary.shape == (6, 5)
    gap = [np.where(y == 1, 2, y) for y in Y]
    assert StructuralSVM((), (), **FAST).fit(X, gap).n_labels_ == 3


def test_class_and_node_weights_count():
    X, Y = [Graph(np.ones((3, 1)), node_weight=[10.0, 1.0, 1.0])], [[0, 1, 1]]
    svm = StructuralSVM((), (), class_weight=[1.0, 2.0], batch_size=None, **FAST).fit(X, Y)
    assert svm.history_[0]["hinge"] == pytest.approx(14.0)  # at the start every node is wrong
    balanced = clone(svm).set_params(class_weight="balanced").fit(X, Y)
    assert balanced.history_[0]["hinge"] == pytest.approx(1.5 * 10.0 + 0.75 * 2)
    right = svm.predict(X)[0] == Y[0]
    assert svm.score(X, Y) == pytest.approx((right @ [10.0, 1.0, 1.0]) / 12.0)


def test_decision_is_what_predict_maximises(chains):
    X, Y = chains
    svm = StructuralSVM((), (), **FAST).fit(X, Y)
    potentials, y_pred = svm.decision(X), svm.predict(X)
    for p, y in zip(potentials[:3], y_pred[:3], strict=True):
        best = max(float(p.score(z)) for z in torch.cartesian_prod(*[torch.arange(3)] * 6))
        assert float(p.score(torch.from_numpy(y))) == pytest.approx(best, rel=1e-4)


def test_history_and_callbacks(chains):
    seen = []
    stop = [seen.append, lambda record: record["epoch"] == 3]
    svm = StructuralSVM((), (), batch_size=None, callbacks=stop, **FAST).fit(*chains)
    assert len(seen) == len(svm.history_) == 3
    assert {"objective", "hinge", "gap", "optimal", "negative", "differing", "accuracy", "seconds"} <= set(seen[0])
    assert seen[0]["hinge"] == pytest.approx(6.0)  # nothing is learned yet: every node is wrong


def test_validation_decides_what_is_kept(chains):
    X, Y = chains
    svm = StructuralSVM((), (), keep="validation", **FAST).fit(X[:20], Y[:20], validation=(X[20:], Y[20:]))
    accuracies = [record["accuracy"] for record in svm.history_]
    assert svm.score(X[20:], Y[20:]) == max(accuracies)
    held = StructuralSVM((), (), keep="validation", validation_fraction=0.3, patience=2, tol=0.5, **FAST).fit(X, Y)
    assert len(held.history_) == 3


def test_averaging(chains):
    averaged = StructuralSVM((), (), averaging="linear", **FAST).fit(*chains)
    assert not torch.equal(parameters(averaged), parameters(clone(averaged).set_params(averaging=None).fit(*chains)))
    assert averaged.score(*chains) > 0.6


def test_grid_search_pipeline_and_cross_validation(chains):
    X, Y = chains
    search = GridSearchCV(StructuralSVM((), (), max_iter=3), {"C": [1e-6, 100.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"C": 100.0}
    pipeline = make_pipeline(UnaryClassifier(max_iter=3), StructuralSVM((), (), **FAST))
    assert cross_val_score(pipeline, X, Y, cv=2).shape == (2,)


def test_save_and_load(chains, tmp_path):
    X, Y = chains
    svm = StructuralSVM((4,), (4,), symmetric=True, class_weight=np.ones(3), **FAST).fit(X, Y)
    svm.save(tmp_path / "run")
    for kind in (StructuralSVM, type(svm).__mro__[2]):
        again = kind.load(tmp_path / "run")
        assert torch.equal(parameters(again), parameters(svm))
        assert again.history_ == svm.history_
        assert all((a == b).all() for a, b in zip(again.predict(X), svm.predict(X), strict=True))
    with pytest.raises(FileFormatError, match="holds a 'StructuralSVM', not a UnaryClassifier"):
        UnaryClassifier.load(tmp_path / "run")


def test_a_file_with_unknown_parameters_is_refused(chains, tmp_path):
    StructuralSVM((), (), **FAST).fit(*chains).save(tmp_path)
    document, tensors = load_model(tmp_path)
    document["parameters"]["colour"] = "blue"
    kept = ("class", "parameters", "omitted", "fitted", "history")
    save_model(tmp_path, {key: document[key] for key in kept}, tensors)
    with pytest.raises(FileFormatError, match=r"parameters that StructuralSVM does not know: \['colour'\]"):
        StructuralSVM.load(tmp_path)


@pytest.mark.parametrize("place", ["checkpoint", "tensorboard"])
def test_a_file_cannot_say_where_to_write(chains, tmp_path, place):
    svm = StructuralSVM((), (), **FAST).fit(*chains)
    svm.set_params(**{place: tmp_path / "place"}).save(tmp_path / "model")
    assert getattr(StructuralSVM.load(tmp_path / "model"), place) is None
    document, tensors = svm.state()
    document["parameters"][place] = str(tmp_path / "place")
    save_model(tmp_path / "model", document, tensors)
    with pytest.raises(FileFormatError, match=rf"parameters that StructuralSVM does not know: \['{place}'\]"):
        StructuralSVM.load(tmp_path / "model")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there(chains, tmp_path):
    with pytest.raises(ValueError, match="device must be one that this machine has, such as 'cpu', got 'cuda'"):
        StructuralSVM((), (), device="cuda", **FAST).fit(*chains)
    svm = StructuralSVM((), (), **FAST).fit(*chains)
    svm.set_params(device="cuda").save(tmp_path)
    with pytest.raises(ValueError, match=f"{tmp_path} cannot be loaded as it was saved: device must be one"):
        StructuralSVM.load(tmp_path)
    assert torch.equal(parameters(StructuralSVM.load(tmp_path, device="cpu")), parameters(svm))


def test_numpy_scalars_among_the_parameters_are_saved(chains, tmp_path):
    options = {**FAST, "C": np.float64(10.0), "class_weight": (np.float32(0.5), 1.0, 1.0, 2.0)}
    svm = StructuralSVM((np.int64(3),), [np.int32(2)], n_labels=np.int64(4), **options).fit(*chains)
    svm.save(tmp_path)
    again = StructuralSVM.load(tmp_path)
    assert (again.unary_hidden, again.interaction_hidden, again.n_labels_, again.C) == ((3,), (2,), 4, 10.0)
    assert again.class_weight == (0.5, 1.0, 1.0, 2.0)
    assert torch.equal(parameters(again), parameters(svm))


def test_class_weights_in_a_tensor_are_saved(chains, tmp_path):
    StructuralSVM((), (), class_weight=torch.tensor([0.5, 1.0, 2.0]), **FAST).fit(*chains).save(tmp_path)
    assert StructuralSVM.load(tmp_path).class_weight == (0.5, 1.0, 2.0)


def test_tied_weights_are_saved(chains, tmp_path):
    def tied():
        layers = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        layers[2].weight = layers[0].weight
        return layers

    svm = StructuralSVM(interaction_hidden=(), unary=tied(), **FAST).fit(*chains)
    svm.save(tmp_path)
    again = StructuralSVM.load(tmp_path, unary=tied()).model_.unary
    assert again[2].weight is again[0].weight
    assert torch.equal(again[2].weight, svm.model_.unary[2].weight)


def test_saved_modules_must_be_given_again(chains, tmp_path):
    svm = StructuralSVM(interaction_hidden=(), unary=nn.Linear(3, 3), **FAST).fit(*chains)
    svm.save(tmp_path)
    with pytest.raises(
        ValueError, match=r"was saved with \['unary'\] given as Python objects: pass them to load again"
    ):
        StructuralSVM.load(tmp_path)
    assert torch.equal(parameters(StructuralSVM.load(tmp_path, unary=nn.Linear(3, 3))), parameters(svm))


def test_tensorboard_log(chains, tmp_path):
    pytest.importorskip("tensorboard")
    StructuralSVM((), (), tensorboard=tmp_path, **FAST).fit(*chains)
    assert list(tmp_path.glob("events.out.tfevents*"))


def test_progress_bar(chains, capsys):
    StructuralSVM((), (), verbose=1, **FAST).fit(*chains)
    assert "objective" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, r'C must be positive and finite, or "auto", got 0.0'),
        ({"learning_rate": -1.0}, "learning_rate must be positive and finite"),
        ({"C": "much"}, "C must be positive and finite, or \"auto\", got 'much'"),
        ({"momentum": 1.0}, "momentum must be at least 0 and below 1"),
        ({"max_iter": 0}, "max_iter must be an integer ≥ 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer ≥ 1, got 2.5"),
        ({"keep": "first"}, r"keep must be one of \['objective', 'validation', 'last'\], got 'first'"),
        ({"void": "keep"}, "void must be one of"),
        ({"schedule": "linear"}, r"schedule must be one of \['inverse', 'constant', 'cosine'\], got 'linear'"),
        ({"optimizer": "newton"}, "optimizer must be one of .* or a callable, got 'newton'"),
        ({"averaging": "yes"}, r"averaging must be None or one of \['linear', 'uniform'\], got 'yes'"),
        ({"class_weight": "equal"}, "class_weight must be None, \"balanced\" or an array, got 'equal'"),
        ({"class_weight": [1.0]}, r"class_weight needs 3 entries, one per label, got shape \(1,\)"),
        ({"class_weight": {0: 1.0}}, 'class_weight must be None, "balanced" or an array of numbers, got dict'),
        ({"unary_hidden": 16}, r"hidden must be a sequence with the units of each layer, got 16: try \(16,\)"),
        ({"n_labels": 2}, "Y must hold labels below n_labels=2, got 2"),
        ({"dtype": "float16"}, r"dtype must be one of \['float32', 'float64'\], got 'float16'"),
        ({"random_state": -1}, "random_state must be None, an integer ≥ 0"),
        ({"keep": "validation"}, r'keep="validation" needs validation data: pass validation=\(X, Y\) to fit'),
        ({"validation_fraction": 0.001}, "validation_fraction=0.001 leaves no graph"),
        ({"t0": -1.0}, "t0 and tol must not be negative"),
        ({"inference": "magic"}, "method"),
    ],
)
def test_bad_parameters_are_refused(chains, arguments, message):
    with pytest.raises(ValueError, match=message):
        StructuralSVM(**{"unary_hidden": (), "interaction_hidden": (), **FAST, **arguments}).fit(*chains)


def test_bad_data_are_refused(chains):
    X, Y = chains
    svm = StructuralSVM((), (), **FAST)
    cases = [
        (X, Y[:-1], "Y needs one label vector per graph: expected 30, got 29"),
        ([], [], "X must hold at least one Graph, got none"),
        (X[0], Y, "X must be a sequence with one entry per graph, got Graph"),
        ([x.node_features for x in X], Y, "X must hold neuralfactors.Graph objects, got ndarray at position 0"),
        (X, [y[:-1] for y in Y], r"Y\[0\] needs one label per node: expected shape \(6,\), got \(5,\)"),
        (X, [y.astype(float) for y in Y], r"Y\[0\] must hold integers, got dtype float64"),
        (X, [np.full(6, -1)] * 30, r"Y must label at least one node, but all nodes are void \(-1\)"),
    ]
    for graphs, labels, message in cases:
        with pytest.raises(ValueError, match=message):
            svm.fit(graphs, labels)
    svm.fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 node features, but StructuralSVM was fitted with 3"):
        svm.predict([Graph(np.ones((2, 2)))])
    with pytest.raises(ValueError, match="X must be a list of graphs, got a Graph"):
        svm.predict(X[0])
    with pytest.raises(ValueError, match="X must be a sequence with one entry per graph, got generator"):
        svm.predict(x for x in X)
    with pytest.raises(ValueError, match="Y needs one label vector per graph"):
        svm.score(X, Y[:-1])
    with pytest.raises(ValueError, match="Y must be a sequence with one entry per graph, got NoneType"):
        svm.score(X, None)
    assert svm.predict([]) == []


def test_bad_validation_data_are_refused_before_training(chains):
    X, Y = chains
    epochs = []
    svm = StructuralSVM((), (), callbacks=[epochs.append], **FAST)
    cases = [
        (X, r"validation must be a pair \(X, Y\) of graphs and labels, got list"),
        (([], []), "validation data: X must hold at least one Graph, got none"),
        ((X, Y[:-1]), "validation data: Y needs one label vector per graph: expected 30, got 29"),
        ((X, [np.full(6, -1)] * 30), "validation data: Y must label at least one node, but all nodes are void"),
        (([Graph(np.ones((2, 2)))], [[0, 1]]), "validation data have 2 node features, but X has 3"),
        (([Graph(np.ones((2, 3)), [[0, 1]], [[1.0]])], [[0, 1]]), "validation data have 1 edge features, but X has 0"),
    ]
    for validation, message in cases:
        with pytest.raises(ValueError, match=message):
            svm.fit(X, Y, validation=validation)
    assert not epochs


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
        svm = StructuralSVM((), (), inference=method, **FAST).fit(X, [*Y[:-1], np.full(9, -1)])
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
    svm = StructuralSVM((), (), C=100.0, learning_rate=0.05, max_iter=15).fit(X, Y)
    assert svm.order_ == 3
    assert svm.model_.interaction.weight.shape == (8, 1)
    assert svm.score(X, Y) == 1.0
    assert UnaryClassifier().fit(X, Y).score(X, Y) < 0.9
