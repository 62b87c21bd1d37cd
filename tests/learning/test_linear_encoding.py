"""Types of nodes in the linear learners, against a primal solver that has every labelling of every graph."""

import itertools

import numpy as np
import pytest
import torch
from learners import parameters
from linear_problems import solve_primal
from scipy.sparse import csr_array
from sklearn.base import clone

from neuralfactors import Graph, GraphBatch
from neuralfactors.estimators import CuttingPlaneSVM, Decoder, FrankWolfeSVM, load

SIZES = (2, 3)
LEARNERS = {
    "n-slack": CuttingPlaneSVM(3.0),
    "1-slack": CuttingPlaneSVM(3.0, slack="1"),
    "frank-wolfe": FrankWolfeSVM(3.0),
}


def typed_samples(seed=0, n_graphs=4, *, sparse=False):
    """Two nodes of each of two types in a cycle, with features of their own number."""
    rng = np.random.default_rng(seed)
    edges = [[0, 1], [1, 2], [3, 2], [0, 3]]
    X = []
    for _ in range(n_graphs):
        blocks = [rng.normal(size=(2, 2)), rng.normal(size=(2, 1))]
        blocks = [csr_array(block) for block in blocks] if sparse else blocks
        X.append(Graph.of_types(blocks, edges, rng.normal(size=(4, 1)), rng.random(4) + 0.5))
    return X, [rng.integers([2, 2, 3, 3]) for _ in X]


def optimum(learner, X, Y, weight, sign=None):
    """Weights and least objective by scipy; φ(x, y) is the gradient of the score that the learner's model gives."""
    model = learner.model_.requires_grad_(True)
    blocks = []
    for x, y, times in zip(X, Y, weight, strict=True):
        potentials = model(GraphBatch.from_graphs([x], torch.float64))
        labellings = [np.array(z) for z in itertools.product(*(range(SIZES[t]) for t in x.node_types))]

        def phi(z, potentials=potentials):
            score = potentials.score(torch.from_numpy(np.asarray(z)))
            slopes = torch.autograd.grad(score, list(model.parameters()), retain_graph=True)
            return torch.cat([slope.flatten() for slope in slopes]).numpy()

        psi = np.array([phi(y) - phi(z) for z in labellings])
        loss = np.array([((y != z) * x.node_weight).sum() for z in labellings])
        blocks.append((times * psi, times * loss))
    return solve_primal(blocks, 3.0, sign)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("more", ["", "bias", "weight", "sparse", "exact"])
def test_learners_reach_the_optimum_over_all_labellings(name, more):
    X, Y = typed_samples(sparse=more == "sparse")
    weight = np.array([0.0, 1.0, 2.0, 0.5]) if more == "weight" else np.ones(4)
    learner = clone(LEARNERS[name]).set_params(tol=1e-5, max_iter=3000, n_labels=SIZES, bias=more != "bias")
    learner.set_params(decoder=Decoder("exact" if more == "exact" else "exhaustive"))
    learner.fit(X, Y, sample_weight=weight if more == "weight" else None)
    w, least = optimum(learner, X, Y, weight)
    assert learner.objective_ == pytest.approx(least, rel=3e-5)
    np.testing.assert_allclose(parameters(learner).numpy(), w, atol=2e-2)
    assert all((z < np.array(SIZES)[x.node_types]).all() for x, z in zip(X, learner.predict(X), strict=True))


def test_tables_within_a_type_are_symmetric_and_others_are_free():
    X, Y = typed_samples()
    learner = FrankWolfeSVM(3.0, n_labels=SIZES, symmetric=[-1], tol=1e-4, max_iter=500).fit(X, Y)
    factors = dict(learner.model_.interaction.items())
    assert sorted(factors) == ["0-0", "0-1", "1-1"]
    for name, sizes in (("0-0", (2, 2)), ("1-1", (3, 3))):
        table, bias = factors[name].weight.view(sizes), factors[name].bias.view(sizes)
        torch.testing.assert_close(table, -table.T, rtol=0, atol=1e-12)
        torch.testing.assert_close(bias, bias.T, rtol=0, atol=1e-12)
    assert factors["0-1"].weight.shape == (6, 1)
    assert factors["0-1"].signs is None


def test_signs_are_given_by_pair_of_types():
    X, Y = typed_samples(1)
    attract = 2 * np.eye(2, 3) - 1
    learner = CuttingPlaneSVM(3.0, n_labels=SIZES, interaction_sign={(0, 1): attract}, tol=1e-5, max_iter=3000)
    learner.fit(X, Y)
    factor = learner.model_.interaction["0-1"]
    assert (factor.weight.detach().numpy() * attract.reshape(-1, 1) >= 0).all()
    by_name = dict(learner.model_.named_parameters())
    columns = {name: np.zeros(p.shape) for name, p in by_name.items()}
    columns["interaction.0-1.weight"] += attract.reshape(-1, 1)
    columns["interaction.0-1.bias"] += attract.ravel()
    _, least = optimum(learner, X, Y, np.ones(4), np.concatenate([columns[name].ravel() for name in by_name]))
    assert learner.objective_ == pytest.approx(least, rel=3e-5)


@pytest.mark.parametrize(
    ("sign", "message"),
    [
        (np.eye(2), r"interaction_sign must be a dict with some of the keys \[\(0, 0\), \(0, 1\), \(1, 1\)\]"),
        ({(1, 0): np.eye(3, 2)}, "interaction_sign must be a dict"),
        ({(0, 1): np.eye(3, 2)}, r"interaction_sign must hold 1, -1 or 0 in the shape \(2, 3\) or \(2, 2, 3\)"),
    ],
)
def test_signs_of_other_pairs_and_shapes_are_refused(sign, message):
    with pytest.raises(ValueError, match=message):
        FrankWolfeSVM(n_labels=SIZES, interaction_sign=sign).fit(*typed_samples())
    with pytest.raises(ValueError, match="interaction_sign must be an array, as X has no node_types"):
        FrankWolfeSVM(interaction_sign={(0, 0): np.eye(2)}).fit([Graph([[1.0], [0.0]], [[0, 1]])], [[0, 1]])


@pytest.mark.parametrize("name", LEARNERS)
def test_a_warm_start_forgets_labellings_that_nodes_do_not_have(name):
    """The second graphs have their types the other way round."""
    X, Y = typed_samples()
    turned = [Graph(x.node_features, x.edges, x.edge_features, node_types=1 - x.node_types) for x in X]
    options = {"n_labels": [3, 3], "tol": 1e-4, "max_iter": 500}
    warm = clone(LEARNERS[name]).set_params(warm_start=True, **options).fit(X, Y)
    warm.set_params(n_labels=[3, 2]).fit(turned, Y)
    cold = clone(LEARNERS[name]).set_params(**{**options, "n_labels": [3, 2]}).fit(turned, Y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=3e-4)


def test_files_and_graphs_without_edges(tmp_path):
    X, Y = typed_samples()
    learner = FrankWolfeSVM(3.0, n_labels=SIZES).fit(X, Y)
    learner.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert [z.tolist() for z in again.predict(X)] == [z.tolist() for z in learner.predict(X)]
    alone = [Graph(x.node_features, node_types=x.node_types) for x in X]
    assert FrankWolfeSVM(3.0, n_labels=SIZES).fit(alone, Y).score(alone, Y) > 0.5
