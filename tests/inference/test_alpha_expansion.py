"""Method "alpha-expansion": what its local optima are, where they are global ones, and what must not disturb it."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SLACK, MapProblem, brute_force, make_problem, planar_graph, problems

from neuralfactors.inference import solve


def expand(problem, **options):
    return solve(*problem.arrays, method="alpha-expansion", **options)


def expansions(y, label):
    """Every labelling in which some nodes of `y` have moved to `label`."""
    for moved in itertools.product([False, True], repeat=len(y)):
        yield np.where(moved, label, y)


def random_start(problem, seed=0):
    n_nodes, n_labels = problem.unary.shape
    return np.random.default_rng(seed).integers(0, n_labels, n_nodes)


def attractive(rng, n_nodes, n_labels, edges):
    """Potts tables of random strength: every expansion move is submodular."""
    strength = rng.exponential(size=(len(edges), 1, 1))
    return MapProblem(rng.standard_normal((n_nodes, n_labels)), strength * np.eye(n_labels), edges)


@given(seed=st.integers(0, 2**16), n_labels=st.integers(2, 4))
def test_no_expansion_improves_the_result_where_labels_attract(seed, n_labels):
    rng = np.random.default_rng(seed)
    p = attractive(rng, 6, n_labels, planar_graph(rng, 6))
    r = expand(p, init=random_start(p, seed))
    best = max(p.score(y) for label in range(n_labels) for y in expansions(r.labels, label))
    assert r.score == pytest.approx(best, abs=SLACK * p.magnitude)


@given(problem=problems(max_nodes=6), seed=st.integers(0, 99))
def test_no_single_node_improves_the_result_whatever_the_tables(problem, seed):
    r = expand(problem, init=random_start(problem, seed))
    for i, label in np.ndindex(problem.unary.shape):
        y = np.where(np.arange(len(r.labels)) == i, label, r.labels)
        assert problem.score(y) <= r.score + SLACK * problem.magnitude


@given(problem=problems(max_nodes=6), seed=st.integers(0, 99))
def test_result_is_not_below_its_start_and_cannot_be_improved_again(problem, seed):
    start = random_start(problem, seed)
    r = expand(problem, init=start)
    assert r.score >= problem.score(start) - 1e-15 * problem.magnitude  # the sums are taken in another order
    again = expand(problem, init=r.labels)
    assert again.score >= r.score  # not even by rounding
    assert again.score == pytest.approx(r.score, abs=SLACK * problem.magnitude)


@given(seed=st.integers(0, 2**16), size=st.sampled_from([0.0, 1e3, 1e6]))
def test_one_move_solves_two_attracting_labels(seed, size):
    rng = np.random.default_rng(seed)
    p = attractive(rng, 8, 2, planar_graph(rng, 8))
    p = MapProblem(p.unary + size * rng.standard_normal((8, 1)), p.interaction + size, p.edges)
    r = expand(p, init=np.zeros(8, int))
    assert r.score == pytest.approx(brute_force(p), abs=1e-14 * p.magnitude)


@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0])
def test_repelling_and_mixed_tables_end_above_single_node_moves(strength):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = make_problem(rng, 300, 5, planar_graph(rng, 300), strength=strength)
        icm = solve(*p.arrays, method="icm")
        assert expand(p, init=icm.labels).score > icm.score


@given(seed=st.integers(0, 2**16), kind=st.sampled_from(["zero", "constant", "modular"]))
def test_ties_move_nothing(seed, kind):
    rng = np.random.default_rng(seed)
    edges = planar_graph(rng, 12)
    tables = np.zeros((len(edges), 3, 3))
    if kind == "constant":
        tables += rng.standard_normal((len(edges), 1, 1))
    if kind == "modular":  # what an edge gives to the labels of its ends, the ends lose
        row = rng.integers(-3, 4, (len(edges), 3)) / 8
        tables += row[:, :, None]
        unary = np.zeros((12, 3))
        np.subtract.at(unary, edges[:, 0], row)
    else:
        unary = np.full((12, 3), rng.standard_normal())
    p = MapProblem(unary, tables, edges)
    start = random_start(p, seed)
    assert (expand(p, init=start).labels == start).all()


@pytest.mark.parametrize("seed", range(4))
def test_constants_and_units_change_no_labels(seed):
    rng = np.random.default_rng(seed)
    p = make_problem(rng, 40, 6, planar_graph(rng, 40), strength=0.7)
    start = random_start(p, seed)
    expected = expand(p, init=start).labels
    for size in (1.0, 1e4, 1e8):
        row, column = size * rng.standard_normal((2, len(p.edges), 6))
        unary = p.unary + size * rng.standard_normal((40, 1))
        np.subtract.at(unary, p.edges[:, 0], row)  # moved from the nodes to the tables
        np.subtract.at(unary, p.edges[:, 1], column)
        tables = p.interaction + row[:, :, None] + column[:, None, :] + size * rng.standard_normal((len(p.edges), 1, 1))
        assert (expand(MapProblem(unary, tables, p.edges), init=start).labels == expected).all()
    for unit in (1e-300, 1e-12, 1e12, 1e190):
        assert (expand(MapProblem(unit * p.unary, unit * p.interaction, p.edges), init=start).labels == expected).all()


def test_numbering_of_the_labels_does_not_matter_where_hopes_differ():
    rng = np.random.default_rng(0)
    p = make_problem(rng, 50, 6, planar_graph(rng, 50), strength=0.5)
    order = rng.permutation(6)
    permuted = MapProblem(p.unary[:, order], p.interaction[:, order][:, :, order], p.edges)
    start = random_start(p)
    a, b = expand(p, init=start), expand(permuted, init=np.argsort(order)[start])
    assert (a.labels == order[b.labels]).all()


def test_max_iter_bounds_the_sweeps():
    rng = np.random.default_rng(1)
    p = make_problem(rng, 300, 12, planar_graph(rng, 300), strength=1.0)
    start = random_start(p)
    one, all_ = expand(p, init=start, max_iter=1), expand(p, init=start)
    assert 0 < one.iterations <= 12 < all_.iterations
    assert p.score(start) < one.score < all_.score


@pytest.mark.realdata
def test_learned_potentials_end_close_to_the_best_known(data_dir):
    best = json.loads((data_dir / "potentials" / "best.json").read_text())
    gaps = []
    for name, known in best.items():
        with np.load(data_dir / "potentials" / name) as file:
            unary, interaction = (file[key].astype(np.float32) for key in ("unary", "interaction"))
            r = solve(unary, interaction, file["edges"], method="alpha-expansion")
        gaps.append(1 - r.score / known["best_known"])
    assert len(gaps) == 22
    assert min(gaps) > -1e-6
    assert np.mean(gaps) < 0.004
