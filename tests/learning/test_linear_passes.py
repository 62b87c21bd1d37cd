"""The compiled linear learners against a dense reference that writes every constraint out, and their raw kernel."""

import itertools
import signal
import subprocess
import sys
import time
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learners import make, parameters
from linear_problems import hinge, linear_problem, objective, phi, split, violation
from scipy.sparse import csr_array

from neuralfactors import Graph, GraphBatch
from neuralfactors.datasets import make_chains, make_grids
from neuralfactors.estimators import CuttingPlaneSVM, Decoder, FrankWolfeSVM
from neuralfactors.inference import _kernels
from neuralfactors.learning._simplex import maximise_on_simplex

EDGES = {"chain": [[0, 1], [1, 2]], "backwards": [[1, 0], [2, 1]], "triangle": [[0, 1], [1, 2], [0, 2]], "none": []}
EDGES |= {"double": [[0, 1], [1, 0], [1, 2]]}
LEARNERS = {
    "frank-wolfe": lambda **more: FrankWolfeSVM(3.0, tol=1e-6, max_iter=1000, **more),
    "n-slack": lambda **more: CuttingPlaneSVM(3.0, tol=1e-6, max_iter=1000, **more),
    "1-slack": lambda **more: CuttingPlaneSVM(3.0, slack="1", tol=1e-6, max_iter=1000, **more),
}


def make_samples(seed, edges, n_labels=3, n_graphs=4):
    """Graphs of three nodes, with features and weights of nodes and edges, and their labels."""
    rng = np.random.default_rng(seed)
    edges = np.array(edges, np.int64).reshape(-1, 2)
    X = [
        Graph(rng.normal(size=(3, 2)), edges, rng.normal(size=(len(edges), 2)), rng.random(3) + 0.5)
        for _ in range(n_graphs)
    ]
    return X, [rng.integers(n_labels, size=3) for _ in X]


def joint_features(x, y, n_labels):
    """φ(x, y) in the order of the model's parameters."""
    nodes, edges = np.zeros((n_labels, 3)), np.zeros((n_labels**2, 3))
    for i, label in enumerate(y):
        nodes[label] += [*x.node_features[i], 1.0]
    for e, (i, j) in enumerate(x.edges):
        edges[y[i] * n_labels + y[j]] += [*x.edge_features[e], 1.0]
    parts = [nodes[:, :-1], nodes[:, -1], edges[:, :-1], edges[:, -1]]
    return np.concatenate([part.ravel() for part in parts])


def constraints(x, y, n_labels):
    """ψ(z) and Δ(y, z) of every labelling z."""
    Z = np.array(list(itertools.product(range(n_labels), repeat=len(y))))
    true = joint_features(x, y, n_labels)
    return np.array([true - joint_features(x, z, n_labels) for z in Z]), (y != Z) @ x.node_weight


def tied(psi, n_labels, signs):
    """ψ with the tables of its edges made symmetric or antisymmetric; `signs` are of two features and the bias."""
    at = 3 * n_labels
    tables = np.concatenate([psi[:, at:-9].reshape(-1, 9, 2), psi[:, -9:, None]], axis=2).reshape(-1, 3, 3, 3)
    half = (tables + np.array(signs) * tables.transpose(0, 2, 1, 3)) / 2
    tables = np.where(np.array(signs) == 0, tables, half).reshape(-1, 9, 3)
    return np.concatenate([psi[:, :at], tables[:, :, :2].reshape(-1, 18), tables[:, :, 2]], axis=1)


@cache
def solve_dense(shape, C, n_labels, sweeps=100, signs=(0, 0, 0)):
    """Weights and objective by dual ascent over all constraints of one sample at a time."""
    X, Y = make_samples(0, EDGES[shape])
    blocks = [constraints(x, y, n_labels) for x, y in zip(X, Y, strict=True)]
    blocks = [(tied(psi, n_labels, signs), loss) for psi, loss in blocks]
    alphas = [np.eye(len(loss))[loss.argmin()] * C / len(X) for _, loss in blocks]
    w = np.zeros(blocks[0][0].shape[1])
    for _ in range(sweeps):
        for n, (psi, loss) in enumerate(blocks):
            rest = w - alphas[n] @ psi
            alphas[n] = maximise_on_simplex(psi @ psi.T, loss - psi @ rest, alphas[n], 1e-10, 300)
            w = rest + alphas[n] @ psi
    return w, 0.5 * w @ w + C / len(X) * sum((loss - psi @ w).max() for psi, loss in blocks)


@pytest.mark.parametrize("shape", EDGES)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_reach_the_optimum_over_all_constraints(name, shape):
    X, Y = make_samples(0, EDGES[shape])
    learner = LEARNERS[name](n_labels=3).fit(X, Y)
    w, objective = solve_dense(shape, 3.0, 3)
    assert learner.objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(parameters(learner)[: len(w)].numpy(), w[: len(parameters(learner))], atol=2e-3)


@pytest.mark.parametrize(
    ("symmetric", "signs"),
    [([1, -1], (1, -1, 1)), ([0, -1], (0, -1, 0)), ((-1, -1), (-1, -1, 1)), (True, (1, 1, 1)), (False, (0, 0, 0))],
)
@pytest.mark.parametrize("name", [*LEARNERS, "classical"])
def test_tables_have_the_symmetry_asked_for(name, symmetric, signs):
    X, Y = make_samples(0, EDGES["triangle"])
    classical = FrankWolfeSVM(3.0, tol=1e-2, max_iter=2000, corrective=False, n_labels=3)
    learner = classical if name == "classical" else LEARNERS[name](n_labels=3)
    learner.set_params(symmetric=symmetric).fit(X, Y)
    interaction = learner.model_.interaction
    tables = torch.cat([interaction.weight, interaction.bias[:, None]], dim=1).view(3, 3, 3)
    for k, sign in enumerate(signs):
        if sign:
            torch.testing.assert_close(tables[..., k], sign * tables[..., k].T, rtol=0, atol=1e-12)
    w, objective = solve_dense("triangle", 3.0, 3, signs=signs)
    assert learner.objective_ == pytest.approx(objective, rel=1e-2 if name == "classical" else 1e-6)
    if name != "classical":
        np.testing.assert_allclose(parameters(learner).numpy(), w, atol=2e-3)


@pytest.mark.parametrize("shape", ["chain", "backwards", "triangle"])
@pytest.mark.parametrize("seed", range(5))
def test_classical_frank_wolfe_takes_the_steps_of_the_textbook(seed, shape):
    """With two labels no two of them tie at the start, so that every step is determined."""
    X, Y = make_samples(seed, EDGES[shape], n_labels=2, n_graphs=7)
    blocks = [constraints(x, y, 2) for x, y in zip(X, Y, strict=True)]
    share, w = 3.0 / len(X), np.zeros(blocks[0][0].shape[1])
    own, losses = np.zeros((len(X), len(w))), np.zeros(len(X))
    for epoch in range(3):
        for n in np.random.default_rng([0, epoch]).permutation(len(X)):
            psi, loss = blocks[n]
            k = (loss - psi @ w).argmax()
            direction, more = share * psi[k] - own[n], share * loss[k] - losses[n]
            step = np.clip((more - direction @ w) / max(direction @ direction, 1e-300), 0.0, 1.0)
            own[n], losses[n], w = own[n] + step * direction, losses[n] + step * more, w + step * direction
    best = []
    learner = FrankWolfeSVM(3.0, tol=0.0, max_iter=3, check_every=3, corrective=False, n_labels=2)
    learner.set_params(callbacks=[lambda record: best.append(record) or True]).fit(X, Y)
    assert best[0]["dual"] == pytest.approx(losses.sum() - 0.5 * w @ w, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(parameters(learner).numpy(), w, rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 2**16), weights=st.booleans(), void=st.booleans(), bias=st.booleans())
def test_passes_find_the_most_violated(seed, weights, void, bias):
    problem = linear_problem(seed, weights=weights, void=void, bias=bias)
    problem.w[:] = np.random.default_rng(seed).normal(size=problem.w.shape)
    found = problem.most_violated()
    assert found.hinge == pytest.approx([hinge(problem, n) for n in range(len(problem))])
    assert found.optimal == 1.0
    assert found.gap == pytest.approx(0, abs=1e-9)
    violations = [violation(problem, n, z) for n, z in enumerate(split(problem, found.labels))]
    assert violations == pytest.approx(found.hinge, abs=1e-9)


@given(seed=st.integers(0, 2**16), bias=st.booleans())
def test_the_model_gets_the_weights(seed, bias):
    problem = linear_problem(seed, bias=bias)
    problem.w[:] = np.random.default_rng(seed).normal(size=problem.w.shape)
    problem.fill_model()
    graph, y = problem.samples.labelled(0)
    potentials = problem.model(GraphBatch.from_graphs([graph], torch.float64))
    assert float(potentials.score(torch.from_numpy(y))) == pytest.approx(phi(problem, graph, y) @ problem.w)


@pytest.mark.parametrize("steps", ["add", "solve", "find"])
@pytest.mark.parametrize("seed", range(4))
def test_working_sets_keep_to_weak_duality(seed, steps):
    problem, rng = linear_problem(seed, weights=True), np.random.default_rng(seed)
    sets, everyone = _kernels.WorkingSets(problem.kernel, 3.0, with_gram=True), np.arange(len(problem))
    for _ in range(8):
        before, gaps = sets.dual(), np.empty(len(problem))
        sets.add(rng.integers(3, size=len(problem.y)).astype(np.int32))
        assert sets.dual() == before
        if steps == "solve":
            sets.sweep(everyone, gaps)
            assert gaps.min() >= -1e-9
        elif steps == "find":
            sets.frank_wolfe_pass(everyone, True)
        assert sets.dual() >= before - 1e-9
    sets.prune()
    assert sets.dual() <= objective(problem, 3.0) + 1e-9
    assert (sets.n_constraints == 0) == (steps == "add")  # without weight, none is kept


@pytest.mark.parametrize("name", LEARNERS)
def test_threads_and_repetition_change_nothing(name):
    X, Y = make_grids(12, 4)
    found = [make(LEARNERS[name], tol=1e-2, decoder=Decoder(n_threads=n)).fit(X, Y) for n in (1, 3, 1)]
    assert all((parameters(found[0]) == parameters(other)).all() for other in found[1:])


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("dtype", "index"), [(np.float32, np.int32), (np.float64, np.int64)])
def test_sparse_features_are_the_same_as_dense_ones(name, dtype, index):
    X, Y = make_chains(20, 5, 3)
    dense, sparse = [], []
    for x in X:
        rows = csr_array(np.where(x.node_features > 0.5, x.node_features, 0.0).astype(dtype))
        rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
        dense.append(Graph(rows.toarray(), x.edges))
        sparse.append(Graph(rows, x.edges))
    expected, found = (LEARNERS[name]().set_params(tol=1e-3).fit(data, Y) for data in (dense, sparse))
    assert (parameters(expected) == parameters(found)).all()
    assert found.score(sparse, Y) == expected.score(dense, Y)


@pytest.mark.parametrize("name", LEARNERS)
def test_scores_beyond_all_measure_are_refused(name):
    X, Y = make_samples(0, EDGES["chain"])
    X = [Graph(x.node_features, x.edges, x.edge_features, np.full(3, 1e201)) for x in X]
    with pytest.raises(ValueError, match=r"beyond 1e200: scale features or node_weight down \(graph \d\)"):
        LEARNERS[name]().fit(X, Y)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_method_that_cannot_take_a_graph_says_so(name):
    X, Y = make_samples(0, EDGES["triangle"])
    with pytest.raises(ValueError, match=r"'tree' needs a graph without cycles, but this one has a cycle \(graph \d\)"):
        LEARNERS[name](decoder=Decoder("tree")).fit(X, Y)
    with pytest.raises(ValueError, match="method must be one of"):
        LEARNERS[name](decoder=Decoder("best")).fit(X, Y)


def make_kernel(**more):
    shape = {
        "n_labels": 2,
        "order": 2,
        "n_node_features": 1,
        "n_edge_features": 0,
        "node_bias": True,
        "edge_bias": True,
    }
    options = {"method": "auto", "tol": 0.0, "max_iter": 0, "seed": 0, "n_threads": 1, "decode": None}
    return _kernels.LinearProblem(**{**shape, **options, **more})


def sample(**more):
    """Arguments of `add` for a chain of two nodes."""
    return {
        "node_features": np.ones((2, 1)), "columns": None, "row_ptr": None, "edges": np.array([[0, 1]]),
        "edge_features": np.zeros((1, 0)), "y": np.array([0, 1]), "costs": np.ones((2, 1)), **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_features": np.ones((3, 1))}, "a row per node"),
        ({"node_features": np.ones((2, 2))}, "number of columns"),
        ({"node_features": np.ones((2, 1), np.int64)}, "float32 or float64"),
        ({"node_features": np.ones((2, 2))[:, :1]}, "contiguous"),
        ({"edges": np.array([[0, 2]])}, "edges is out of range"),
        ({"edges": np.array([[0, 1, 1]])}, "order"),
        ({"y": np.array([0, 2])}, "y is out of range"),
        ({"costs": np.ones((3, 1))}, "costs needs one entry per node"),
        ({"costs": np.ones((2, 3))}, "one column, or one per label"),
        ({"columns": np.zeros(2, np.int32)}, "come together"),
    ],
)
def test_the_kernel_refuses_what_does_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        make_kernel().add(**sample(**change))


@pytest.mark.parametrize(
    ("columns", "row_ptr"), [([0, 1], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 0], [0, 3, 2]), ([0, 0], [0, 1, 3])]
)
def test_the_kernel_refuses_bad_sparse_features(columns, row_ptr):
    pattern = {"columns": np.array(columns, np.int32), "row_ptr": np.array(row_ptr, np.int32)}
    with pytest.raises(ValueError, match="columns in range"):
        make_kernel().add(**sample(node_features=np.ones(2), **pattern))


def test_the_kernel_refuses_labels_and_orders_out_of_range():
    problem = make_kernel()
    problem.add(**sample())
    sets = _kernels.WorkingSets(problem, 1.0, True)
    for order in ([1], [-1]):
        with pytest.raises(ValueError, match="order is out of range"):
            sets.frank_wolfe_pass(np.array(order), True)
    for labels in ([0, 2], [0, -1], [0]):
        for take in (sets.add, _kernels.InferenceCache(problem, 1).store):
            with pytest.raises(ValueError, match="labels"):
                take(np.array(labels, np.int32))


def test_ctrl_c_ends_a_pass():
    code = """
import numpy as np
from neuralfactors import FrankWolfeSVM
from neuralfactors.datasets import make_chains
X, Y = make_chains(3000, 30, 30)
print("ready", flush=True)
FrankWolfeSVM(1e6, tol=0.0, max_iter=100_000, check_every=100_000).fit(X, Y)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert errors.strip().endswith("KeyboardInterrupt")
