"""Weights of given signs: the checks, and learners against a primal solver that has every constraint."""

import numpy as np
import pytest
import torch
from linear_problems import N_LABELS, every_labelling, linear_problem, loss, psi, solve_primal
from sklearn.base import clone

from neuralfactors import Graph, Network
from neuralfactors._core.weight_signs import check_signs, project
from neuralfactors.datasets import make_chains, make_grids
from neuralfactors.estimators import CuttingPlaneSVM, Decoder, FrankWolfeSVM, StructuralSVM, Subgradient, load

ATTRACT = 2 * np.eye(N_LABELS, dtype=int) - 1
LEARNERS = {
    "n-slack": CuttingPlaneSVM(3.0),
    "1-slack": CuttingPlaneSVM(3.0, slack="1"),
    "frank-wolfe": FrankWolfeSVM(3.0),
}


def optimum(seed, sign, bias=True):
    """Weights, least objective and the samples of a small problem, by scipy."""
    problem = linear_problem(seed, bias=bias)
    blocks = []
    for n in range(len(problem)):
        Z = every_labelling(problem, n)
        blocks.append((np.array([psi(problem, n, z) for z in Z]), np.array([loss(problem, n, z) for z in Z])))
    n_tables = 2 + bias
    tables = np.broadcast_to(sign, (n_tables, N_LABELS, N_LABELS)).ravel()
    free = np.zeros(len(problem.w) - len(tables))
    return *solve_primal(blocks, 3.0, np.concatenate([free, tables])), problem.samples


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bias", [True, False])
def test_learners_reach_the_optimum_of_scipy(name, seed, bias):
    w, least, samples = optimum(seed, ATTRACT, bias)
    learner = clone(LEARNERS[name]).set_params(
        interaction_sign=ATTRACT, bias=bias, tol=1e-5, max_iter=3000, n_labels=N_LABELS, decoder=Decoder("exhaustive")
    )
    learner.fit(samples.X, samples.Y)
    assert learner.objective_ == pytest.approx(least, rel=3e-5)
    found = learner.model_.interaction.weight.numpy()
    assert (found * ATTRACT.reshape(-1, 1) >= 0).all()
    at = 2 * N_LABELS + bias * N_LABELS
    np.testing.assert_allclose(found.T.ravel(), w[at : at + 18], atol=2e-2)
    assert min(record["duality_gap"] for record in learner.history_) >= -1e-9


@pytest.mark.parametrize("name", LEARNERS)
def test_attraction_makes_binary_tables_submodular(name):
    """Although the labels of a checkerboard avoid their neighbours."""
    X = [Graph(x.node_features, x.edges) for x in make_grids(6, 4)[0]]
    Y = [np.indices((4, 4)).sum(0).ravel() % 2 for _ in X]
    attraction = []
    for sign in (None, 2 * np.eye(2) - 1):
        learner = clone(LEARNERS[name]).set_params(interaction_sign=sign, tol=1e-3, max_iter=500).fit(X, Y)
        (first, there), (back, second) = learner.model_.interaction.bias.view(2, 2).tolist()
        attraction.append(first + second - there - back)
    assert attraction[0] < 0 <= attraction[1]


def test_signs_and_symmetry_go_together():
    _, least, samples = optimum(0, np.array([ATTRACT, np.zeros((3, 3)), ATTRACT]))
    options = {"tol": 1e-5, "max_iter": 1000, "n_labels": N_LABELS}
    signs = [ATTRACT, np.zeros((3, 3)), ATTRACT]
    plain = CuttingPlaneSVM(3.0, interaction_sign=signs, **options).fit(samples.X, samples.Y)
    assert plain.objective_ == pytest.approx(least, rel=3e-5)
    tied = CuttingPlaneSVM(3.0, interaction_sign=signs, symmetric=[1, -1], **options).fit(samples.X, samples.Y)
    assert tied.objective_ > least
    tables = tied.model_.interaction.weight.view(3, 3, 2).numpy()
    assert (tables[..., 0] * ATTRACT >= 0).all()
    np.testing.assert_allclose(tables[..., 0], tables[..., 0].T, atol=1e-12)
    np.testing.assert_allclose(tables[..., 1], -tables[..., 1].T, atol=1e-12)


def test_signs_are_saved(tmp_path):
    FrankWolfeSVM(1.0, interaction_sign=ATTRACT).fit(*make_chains(6, 4, 3)).save(tmp_path)
    assert np.array_equal(load(tmp_path).interaction_sign, ATTRACT)


def test_projection_sets_wrong_signs_to_zero():
    weights = np.array([1.0, -1.0, 2.0, -2.0, 3.0])
    assert project(weights, np.array([1, 1, -1, -1, 0])).tolist() == [1.0, 0.0, 0.0, -2.0, 3.0]
    assert project(weights, None) is weights


@pytest.mark.parametrize(
    ("signs", "symmetric", "message"),
    [
        (np.ones((2, 2)), False, r"interaction_sign must hold 1, -1 or 0 in the shape \(3, 3\) or \(3, 3, 3\)"),
        (2 * np.ones((3, 3)), False, "interaction_sign must hold 1, -1 or 0"),
        (np.triu(np.ones((3, 3))), [1, 1], "interaction_sign must be symmetric where tables are"),
        (np.ones((3, 3)), [-1, 0], "interaction_sign must be antisymmetric where tables are"),
    ],
)
def test_wrong_signs_are_refused(signs, symmetric, message):
    factor = Network(symmetric=symmetric).build(2, 3, order=2)
    mirror = np.zeros(3, np.int8) if factor.signs is None else factor.signs.numpy()
    with pytest.raises(ValueError, match=message):
        check_signs("interaction_sign", signs, (3, 3), mirror)
    with pytest.raises(ValueError, match=message.removeprefix("interaction_")):
        Network(symmetric=symmetric, sign=signs).build(2, 3, order=2)


def test_signs_need_linear_factors():
    with pytest.raises(ValueError, match=r"sign needs a linear factor: hidden must be \(\)"):
        Network((4,), sign=ATTRACT).build(2, 3, order=2)
    with pytest.raises(ValueError, match="sign must be symmetric where tables are"):
        Network(symmetric=True, sign=np.triu(ATTRACT)).build(2, 3, order=2)


@pytest.mark.parametrize("symmetric", [False, True, [1, 1], [0, 1]])
@pytest.mark.parametrize("bias", [True, False])
def test_factors_impose_their_signs(symmetric, bias):
    factor = Network(symmetric=symmetric, sign=ATTRACT, bias=bias).build(2, 3, order=2)
    for parameter in factor.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    before = factor(torch.eye(2)).view(-1, 3, 3)
    factor.impose_signs()
    tables = factor(torch.cat([torch.eye(2), torch.zeros(1, 2)])).view(-1, 3, 3)
    assert (tables[:2] * torch.from_numpy(ATTRACT) >= 0).all()
    assert not torch.equal(before, tables[:2])
    if not (symmetric or bias):
        assert torch.equal(tables[:2], torch.where(before * torch.from_numpy(ATTRACT) >= 0, before, 0.0))


@pytest.mark.parametrize("more", [{}, {"averaging": "linear"}, {"optimizer": "adam"}, {"keep": "last"}])
def test_gradient_learners_keep_the_signs(more, tmp_path):
    _, least, samples = optimum(0, ATTRACT)
    trainer = Subgradient(**{"learning_rate": 0.05, "schedule": "cosine", **more})
    svm = StructuralSVM((), Network(sign=ATTRACT), C=3.0, max_iter=300, n_labels=N_LABELS, trainer=trainer)
    svm.fit(samples.X, samples.Y)
    interaction = svm.model_.interaction
    for values in (interaction.weight, interaction.bias[:, None]):
        assert (values.detach().numpy() * ATTRACT.reshape(-1, 1) >= 0).all()
    assert min(record["objective"] for record in svm.history_[1:]) == pytest.approx(least, rel=0.05)
    svm.save(tmp_path)
    assert np.array_equal(load(tmp_path).model_.interaction.weight_signs, interaction.weight_signs)


@pytest.mark.parametrize(("mirror", "kind"), [(1, "symmetric"), (-1, "antisymmetric")])
def test_signs_of_symmetric_tables_are_symmetric(mirror, kind):
    with pytest.raises(ValueError, match=f"sign must be {kind} where tables are, got"):
        check_signs("sign", [[0, 1], [0, 0]], (2, 2), np.array([mirror], dtype=np.int8))
    fitting = [[0, 1], [mirror, 0]]
    assert check_signs("sign", fitting, (2, 2), np.array([mirror], dtype=np.int8)).tolist() == [fitting]
