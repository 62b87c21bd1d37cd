"""What must not matter: orientation, constants, numbering, the number of threads."""

import numpy as np
import pytest
from problems import make_problem, planar_graph

from neuralfactors.inference import solve, solve_batch

METHODS = ["auto", "alpha-expansion", "trws", "bp", "icm"]


@pytest.fixture(params=range(3))
def problem(request):
    rng = np.random.default_rng(request.param)
    return make_problem(rng, 50, 5, planar_graph(rng, 50), strength=0.4)


@pytest.mark.parametrize("method", METHODS)
def test_reversing_an_edge_is_transposing_its_table(problem, method):
    flip = np.random.default_rng(9).random(len(problem.edges)) < 0.5
    edges = np.where(flip[:, None], problem.edges[:, ::-1], problem.edges)
    tables = np.where(flip[:, None, None], problem.interaction.transpose(0, 2, 1), problem.interaction)
    a, b = solve(*problem.arrays, method=method), solve(problem.unary, tables, edges, method=method)
    assert (a.labels == b.labels).all()
    assert a.score == pytest.approx(b.score)
    assert a.bound == pytest.approx(b.bound)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1.0, 1e5, 1e7])
def test_adding_constants_changes_no_labels(problem, method, size):
    rng = np.random.default_rng(9)
    row, table = (
        size * rng.standard_normal((len(problem.unary), 1)),
        size * rng.standard_normal((len(problem.edges), 1, 1)),
    )
    a = solve(*problem.arrays, method=method)
    b = solve(problem.unary + row, problem.interaction + table, problem.edges, method=method)
    assert (a.labels == b.labels).all()
    assert b.score - row.sum() - table.sum() == pytest.approx(a.score, abs=1e-7 * size + 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_permuting_edges_changes_nothing(problem, method):
    order = np.random.default_rng(9).permutation(len(problem.edges))
    a = solve(*problem.arrays, method=method)
    b = solve(problem.unary, problem.interaction[order], problem.edges[order], method=method)
    assert (a.labels == b.labels).all()
    assert a.bound == pytest.approx(b.bound)


@pytest.fixture(params=range(3))
def tight(request):
    """A problem whose optimum the relaxation proves, so that there is one right answer."""
    rng = np.random.default_rng(request.param)
    return make_problem(rng, 50, 5, planar_graph(rng, 50), strength=0.08)


@pytest.mark.parametrize("method", ["auto", "trws"])
def test_permuting_labels_permutes_the_answer(tight, method):
    order = np.random.default_rng(9).permutation(tight.unary.shape[1])
    a = solve(*tight.arrays, method=method)
    b = solve(tight.unary[:, order], tight.interaction[:, order][:, :, order], tight.edges, method=method)
    assert (a.labels == order[b.labels]).all()
    assert a.status == b.status == "optimal"


@pytest.mark.parametrize("method", ["auto", "trws"])
def test_permuting_nodes_permutes_the_answer(tight, method):
    order = np.random.default_rng(9).permutation(len(tight.unary))
    rank = np.argsort(order)
    a = solve(*tight.arrays, method=method)
    b = solve(tight.unary[order], tight.interaction, rank[tight.edges], method=method)
    assert (a.labels == b.labels[rank]).all()
    assert a.status == b.status == "optimal"


def test_precision_of_the_input_matters_little():
    rng = np.random.default_rng(5)
    p = make_problem(rng, 50, 5, planar_graph(rng, 50), strength=0.4, dtype=np.float32)
    single, double = solve(*p.arrays), solve(p.unary.astype(float), p.interaction.astype(float), p.edges)
    assert (single.labels == double.labels).all()
    assert single.score == pytest.approx(double.score)


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_gives_what_single_calls_give_whatever_the_threads(method):
    rng = np.random.default_rng(7)
    graphs = [
        make_problem(rng, n, 4, planar_graph(rng, n), strength=1.0, dtype=np.float32) for n in (40, 5, 90, 12, 33)
    ]
    node_ptr = np.cumsum([0, *(len(p.unary) for p in graphs)])
    edge_ptr = np.cumsum([0, *(len(p.edges) for p in graphs)])
    unary, tables = np.concatenate([p.unary for p in graphs]), np.concatenate([p.interaction for p in graphs])
    edges = np.concatenate([p.edges + first for p, first in zip(graphs, node_ptr, strict=False)])
    single = [solve(*p.arrays, method=method) for p in graphs]
    for n_threads in (1, 2, 5, None):
        rs = solve_batch(unary, tables, edges, node_ptr, edge_ptr, n_threads=n_threads, method=method)
        for one, many in zip(single, rs, strict=True):
            assert (one.labels == many.labels).all()
            assert (one.score, one.bound, one.status, one.iterations) == (
                many.score,
                many.bound,
                many.status,
                many.iterations,
            )
        assert (rs.gap == [r.gap for r in single]).all()
        assert rs[-1].score == single[-1].score


@pytest.mark.parametrize("strength", [0.3, 3.0])
def test_same_seed_same_answer(strength):
    rng = np.random.default_rng(2)
    p = make_problem(rng, 200, 16, planar_graph(rng, 200), strength=strength)
    seeds = (5, 5, np.random.default_rng(1), np.random.default_rng(1))
    first, again, drawn, redrawn = (solve(*p.arrays, random_state=seed) for seed in seeds)
    assert (first.labels == again.labels).all()
    assert (drawn.labels == redrawn.labels).all()
    assert solve(*p.arrays, random_state=None).score == pytest.approx(first.score, rel=0.02)
