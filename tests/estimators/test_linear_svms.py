"""The convex learners: they meet at one optimum, that of scikit-learn on one-node graphs, and certify it."""

import warnings
from functools import cache, partial
from time import perf_counter

import numpy as np
import pytest
import torch
from learners import make, parameters
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVC

from neuralfactors import Graph, Network, grid_graph
from neuralfactors.datasets import make_blocks, make_chains, make_grids
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    Decoder,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredPerceptron,
    Subgradient,
)
from neuralfactors.learning import StructuredHingeLoss

LEARNERS = {
    "n-slack": lambda C, **more: make(CuttingPlaneSVM, C, tol=2e-4, **more),
    "1-slack": lambda C, **more: make(CuttingPlaneSVM, C, slack="1", tol=2e-4, max_iter=1000, **more),
    "1-slack without cache": lambda C, **more: make(
        CuttingPlaneSVM, C, slack="1", cache_size=0, tol=2e-4, max_iter=1000, **more
    ),
    "frank-wolfe": lambda C, **more: make(FrankWolfeSVM, C, tol=2e-4, max_iter=500, **more),
}


@cache
def optimum(seed, C):
    """The least objective on small chains, to high precision."""
    return CuttingPlaneSVM(C, tol=1e-6, max_iter=500).fit(*make_chains(12, 4, 3, random_state=seed)).objective_


def objective(estimator, X, Y, C):
    """½‖w‖² + C/N Σ hinge, computed from the model by itself."""
    loss = StructuredHingeLoss(Decoder("exhaustive"), reduction="none")
    hinges = [loss(p, torch.as_tensor(y)) for p, y in zip(estimator.potentials(X), Y, strict=True)]
    squares = sum(float(p.detach().double().square().sum()) for p in estimator.model_.parameters())
    return 0.5 * squares + C * float(torch.cat(hinges).double().mean())


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("seed", "C"), [(0, 1.0), (1, 30.0)])
def test_learners_meet_at_one_optimum(name, seed, C):
    X, Y = make_chains(12, 4, 3, random_state=seed)
    learner = LEARNERS[name](C).fit(X, Y)
    assert learner.converged_
    record = learner.history_[-1]
    assert record["duality_gap"] >= -1e-9
    assert learner.objective_ == pytest.approx(objective(learner, X, Y, C), rel=1e-6)
    assert optimum(seed, C) * (1 - 1e-6) <= learner.objective_ <= optimum(seed, C) * (1 + 5e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_meet_without_bias(name):
    """A table without features is the same as a weight for a feature that is always 1."""
    X, Y = make_chains(12, 4, 3)
    learner = LEARNERS[name](1.0, bias=False).fit(X, Y)
    assert learner.objective_ == pytest.approx(objective(learner, X, Y, 1.0), rel=1e-6)
    featured = [Graph(x.node_features, x.edges, np.ones((3, 1))) for x in X]
    assert learner.objective_ == pytest.approx(LEARNERS[name](1.0, bias=False).fit(featured, Y).objective_, rel=5e-4)


def test_n_slack_converges_on_classes_in_order():
    """Iris comes class by class, unscaled: each class undoes what w has learnt from the last."""
    features, labels = load_iris(return_X_y=True)
    X, Y = [Graph(row[None]) for row in features], labels[:, None]
    n_slack, one_slack = CuttingPlaneSVM(30.0).fit(X, Y), CuttingPlaneSVM(30.0, slack="1").fit(X, Y)
    assert n_slack.converged_
    assert n_slack.objective_ == pytest.approx(one_slack.objective_, rel=1e-3)


def test_n_slack_converges_on_long_chains():
    X, Y = make_chains(20, 12, 5)
    n_slack = CuttingPlaneSVM(30.0, tol=1e-3, max_iter=40).fit(X, Y)
    one_slack = CuttingPlaneSVM(30.0, slack="1", tol=1e-3).fit(X, Y)
    assert n_slack.converged_
    assert n_slack.objective_ == pytest.approx(one_slack.objective_, rel=1e-3)


def test_subgradient_descent_meets_them():
    X, Y = make_chains(12, 4, 3, random_state=0)
    trainer = Subgradient(
        optimizer="sgd", schedule="inverse", learning_rate=1.0, momentum=0.0, averaging="linear", dtype="float64"
    )
    svm = StructuralSVM((), (), C=1.0, batch_size=None, max_iter=600, trainer=trainer).fit(X, Y)
    assert objective(svm, X, Y, 1.0) == pytest.approx(optimum(0, 1.0), rel=1e-3)


def directed_chains():
    """Chains whose edges have a length, which does not depend on their direction, and a slope, which does."""
    X, Y = make_chains(12, 4, 3)
    rng = np.random.default_rng(0)
    return [Graph(x.node_features, x.edges, rng.normal(size=(3, 2))) for x in X], Y


def test_symmetry_by_feature_is_the_same_for_subgradient_and_dual_learners():
    X, Y = directed_chains()
    trainer = Subgradient(
        optimizer="sgd", schedule="inverse", learning_rate=1.0, momentum=0.0, averaging="linear", dtype="float64"
    )
    factors = {"unary": (), "interaction": Network(symmetric=[1, -1])}
    svm = StructuralSVM(**factors, C=1.0, batch_size=None, max_iter=400, trainer=trainer).fit(X, Y)
    expected = CuttingPlaneSVM(1.0, symmetric=[1, -1], tol=1e-5).fit(X, Y).objective_
    assert objective(svm, X, Y, 1.0) == pytest.approx(expected, rel=2e-3)
    perceptron = StructuredPerceptron(**factors, max_iter=3).fit(X, Y)
    for learner in (svm, perceptron):
        length, slope = learner.model_.interaction.weight.view(3, 3, 2).unbind(2)
        torch.testing.assert_close(length, length.T)
        torch.testing.assert_close(slope, -slope.T)
        assert slope.abs().max() > 0


@pytest.mark.parametrize("symmetric", [[1, -1], [0, 1], True])
@pytest.mark.parametrize("bias", [True, False])
def test_weights_of_graphs_keep_symmetry_and_signs(symmetric, bias):
    """A graph of weight 2 is two of them, also where its bias has become a feature."""
    X, Y = directed_chains()
    sign = np.eye(3) if symmetric is True else None
    options = {"symmetric": symmetric, "interaction_sign": sign, "bias": bias, "tol": 1e-5, "max_iter": 1000}
    weighted = CuttingPlaneSVM(12.0, **options).fit(X, Y, sample_weight=[2.0] + [1.0] * 11)
    twice = CuttingPlaneSVM(13.0, **options).fit(X + X[:1], Y + Y[:1])
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-4)
    np.testing.assert_allclose(parameters(weighted), parameters(twice), atol=2e-2)


def test_symmetry_by_feature_is_saved(tmp_path):
    X, Y = directed_chains()
    svm = FrankWolfeSVM(1.0, symmetric=[1, -1]).fit(X, Y)
    svm.save(tmp_path)
    again = FrankWolfeSVM.load(tmp_path)
    assert again.symmetric == (1, -1)
    assert [y.tolist() for y in again.predict(X)] == [y.tolist() for y in svm.predict(X)]


def test_classical_frank_wolfe_agrees():
    X, Y = make_chains(8, 3, 2, random_state=2)
    classical = FrankWolfeSVM(1.0, corrective=False, tol=1e-3, max_iter=2000).fit(X, Y)
    assert classical.converged_
    assert classical.objective_ == pytest.approx(CuttingPlaneSVM(1.0, tol=1e-6).fit(X, Y).objective_, rel=1e-3)


def test_frank_wolfe_converges_on_few_graphs_by_default():
    X, Y = make_blocks(5, random_state=0)
    svm = FrankWolfeSVM(C=1.0).fit([grid_graph(x) for x in X], [y.ravel() for y in Y])
    assert svm.converged_
    assert svm.history_[-1]["epoch"] > 200  # passes that see five graphs each


@pytest.mark.parametrize("learner", [CuttingPlaneSVM, FrankWolfeSVM])
def test_one_node_graphs_are_multiclass_svms(learner):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 4))
    labels = (features @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(60, 3))).argmax(axis=1)
    X, Y = [Graph(row[None]) for row in features], [[label] for label in labels]
    C = 20.0
    ours = learner(C, bias=False, tol=1e-6, max_iter=3000).fit(X, Y)
    theirs = LinearSVC(multi_class="crammer_singer", C=C / 60, fit_intercept=False, tol=1e-8, max_iter=100_000)
    theirs.fit(features, labels)
    weight = ours.model_.unary.weight.numpy()
    margins = features @ theirs.coef_.T + 1.0
    margins[np.arange(60), labels] -= 1.0
    hinges = margins.max(axis=1) - (features @ theirs.coef_.T)[np.arange(60), labels]
    expected = 0.5 * (theirs.coef_**2).sum() + C / 60 * hinges.sum()
    assert ours.objective_ == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(weight, theirs.coef_, atol=5e-3)


def test_weights_and_void_nodes_enter_the_objective():
    X, Y = make_chains(6, 4, 3)
    X = [Graph(x.node_features, x.edges, node_weight=[1.0, 2.0, 0.5, 1.0]) for x in X]
    Y = [y.copy() for y in Y]
    Y[0][1] = -1
    class_weight = np.array([1.0, 3.0, 0.2])
    svm = CuttingPlaneSVM(5.0, class_weight=class_weight, tol=1e-6).fit(X, Y)
    loss = StructuredHingeLoss(Decoder("exhaustive"), class_weight=class_weight, void="drop")
    hinges = [
        float(loss(p, torch.from_numpy(y), torch.tensor([1.0, 2.0, 0.5, 1.0])))
        for p, y in zip(svm.potentials(X), Y, strict=True)
    ]
    squares = sum(float(p.square().sum()) for p in svm.model_.parameters())
    assert svm.objective_ == pytest.approx(0.5 * squares + 5.0 * np.mean(hinges), rel=1e-6)


def test_the_dual_never_exceeds_the_objective():
    X, Y = make_chains(10, 4, 3)
    for learner in (CuttingPlaneSVM(10.0), CuttingPlaneSVM(10.0, slack="1"), FrankWolfeSVM(10.0, check_every=1)):
        history = learner.fit(X, Y).history_
        duals = [record["dual"] for record in history]
        assert duals == sorted(duals)
        assert max(duals) <= min(record["objective"] for record in history) * (1 + 1e-9)


@pytest.mark.parametrize("learner", [CuttingPlaneSVM, partial(CuttingPlaneSVM, slack="1"), FrankWolfeSVM])
def test_rough_inference_proves_nothing(learner):
    """It misses labellings, so that the objective it sees may be below the least one."""
    svm = learner(1.0, decoder=Decoder("icm"), max_iter=60)
    with pytest.warns(ConvergenceWarning, match="leaves .* lower decoder__tol, or .* exact method than 'icm'"):
        svm.fit(*make_grids(4, 6))
    assert not svm.converged_
    assert min(record["duality_gap"] for record in svm.history_) >= 0
    assert svm.history_[-1]["duality_gap"] > 0.001 * svm.objective_


def test_training_ends_where_inference_sees_no_more_to_gain():
    with pytest.warns(ConvergenceWarning, match="cannot prove the share tol=0.01"):
        svm = make(CuttingPlaneSVM, 1.0, decoder__method="icm").fit(*make_grids(4, 6))
    assert len(svm.history_) < 60


def test_proved_gaps_hold():
    X, Y = make_grids(4, 3)
    for inference in ("icm", "trws", "auto", "exact"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm = make(CuttingPlaneSVM, 1.0, decoder__method=inference, tol=1e-3).fit(X, Y)
        least, record = (
            make(CuttingPlaneSVM, 1.0, decoder__method="exact", tol=1e-6).fit(X, Y).objective_,
            svm.history_[-1],
        )
        assert record["dual"] <= least * (1 + 1e-9)
        assert objective(svm, X, Y, 1.0) <= least + record["duality_gap"] + 1e-6 * least
        if svm.converged_:
            assert objective(svm, X, Y, 1.0) <= least * (1 + 1.1e-3)


def test_frank_wolfe_records_the_passes_that_certify():
    X, Y = make_chains(10, 4, 3)
    with pytest.warns(ConvergenceWarning):
        history = FrankWolfeSVM(30.0, tol=1e-9, max_iter=5, check_every=2).fit(X, Y).history_
    assert [record["epoch"] for record in history] == [2, 4, 5]


def test_seconds_are_those_of_each_pass():
    start = perf_counter()
    history = CuttingPlaneSVM(10.0).fit(*make_chains(10, 4, 3)).history_
    assert len(history) > 3
    assert 0 < sum(record["seconds"]["total"] for record in history) <= perf_counter() - start


@pytest.mark.parametrize(
    "learner",
    [CuttingPlaneSVM(30.0, max_iter=2), CuttingPlaneSVM(30.0, slack="1", max_iter=2), FrankWolfeSVM(30.0, max_iter=2)],
)
def test_stopping_too_soon_is_told(learner):
    X, Y = make_chains(12, 4, 3)
    gap = r"stopped at max_iter=2 with a duality gap of \S+, more than the share tol=0.01 of its objective"
    with pytest.warns(ConvergenceWarning, match=f"{type(learner).__name__} {gap}") as told:
        assert not learner.fit(X, Y).converged_
    assert told[0].filename == __file__  # where fit was called
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.set_params(max_iter=500).fit(X, Y)
        learner.set_params(callbacks=[lambda record: record["epoch"] > 0]).fit(X, Y)  # who stops it knows
    assert not learner.converged_


def test_an_interrupted_fit_leaves_no_model():
    X, Y = make_chains(12, 4, 3)
    svm = CuttingPlaneSVM().fit(X, Y)
    with pytest.raises(KeyError):
        svm.set_params(callbacks=[lambda record: record["nothing"]]).fit(X, Y)
    with pytest.raises(NotFittedError):
        svm.predict(X)
    assert svm.set_params(callbacks=None).fit(X, Y).converged_


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (CuttingPlaneSVM(C=-1.0), 'C must be positive and finite, or "auto", got -1.0'),
        (CuttingPlaneSVM(slack="2"), r"slack must be one of \['n', '1'\], got '2'"),
        (CuttingPlaneSVM(slack="1", cache_size=-1), "cache_size must be an integer ≥ 0, got -1"),
        (FrankWolfeSVM(max_iter=0), "max_iter must be an integer ≥ 1, got 0"),
        (CuttingPlaneSVM(max_iter=2.5), "max_iter must be an integer ≥ 1, got 2.5"),
        (CuttingPlaneSVM(tol=float("nan")), "tol must not be negative, got nan"),
        (CuttingPlaneSVM(class_weight={9: 1.0}), "class_weight names 9, which is none of the . classes"),
        (FrankWolfeSVM(check_every=0), "check_every must be an integer ≥ 1, got 0"),
        (FrankWolfeSVM(class_weight=[1.0, -1.0, 1.0]), "class_weight must be one finite number ≥ 0 per label"),
    ],
)
def test_bad_parameters_are_refused(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(*make_chains(3, 3, 3))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("order", [2, 3])
def test_graphs_without_edges_stand_beside_others(name, order):
    rng = np.random.default_rng(0)
    edges = [np.arange(order), np.arange(order)[::-1] + 1]
    X = [Graph(rng.normal(size=(4, 2)), edges, rng.normal(size=(2, 3)), order=order) for _ in range(3)]
    X += [Graph(rng.normal(size=(2, 2))), Graph(np.zeros((0, 2)))]
    Y = [rng.integers(0, 3, x.n_nodes) for x in X]
    # The same graphs, whose edge features have the width of the others.
    wide = [x if x.n_edges else Graph(x.node_features, None, np.zeros((0, 3)), order=order) for x in X]
    learner = LEARNERS[name](1.0, decoder=Decoder("exact")).fit(X, Y)
    assert learner.objective_ == pytest.approx(objective(learner, X, Y, 1.0), rel=1e-6)
    assert learner.objective_ == LEARNERS[name](1.0, decoder=Decoder("exact")).fit(wide, Y).objective_


@pytest.mark.parametrize("learner", [CuttingPlaneSVM(np.float64(2.0)), FrankWolfeSVM(np.float64(2.0))])
def test_objective_and_convergence_are_saved(learner, tmp_path):
    learner.fit(*make_chains(6, 4, 3)).save(tmp_path)
    again = type(learner).load(tmp_path)
    assert (again.objective_, again.converged_) == (learner.objective_, True)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_unit_of_the_weights_does_not_matter(name):
    """Costs of s a node and s C in place of C: the weights are s times as large, and the objective s² times."""
    X, Y = make_chains(12, 4, 3, random_state=1)
    small = [Graph(x.node_features, x.edges, node_weight=np.full(4, 1e-5)) for x in X]
    learner = LEARNERS[name](30 * 1e-5).fit(small, Y)
    assert learner.converged_
    assert learner.objective_ == pytest.approx(1e-10 * optimum(1, 30.0), rel=1e-3)
