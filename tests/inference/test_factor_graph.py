"""Factors of any order: scores against plain sums, what a gap proves, and what is refused in one sentence."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import MapProblem, make_problem, random_edges

from neuralfactors.inference import solve, solve_batch
from neuralfactors.inference._factor_graph import Factors
from neuralfactors.inference._kernel import judge
from neuralfactors.inference._validate import check_problem

TABLE = np.array([[0.0, 5.0], [1.0, 0.0]])
NO_EDGES = np.zeros((0, 2, 2)), np.zeros((0, 2), int)


def solve_one(factors, **options):
    return solve(np.zeros((4, 2)), *NO_EDGES, factors=factors, **options)


def solve_two(factors, **options):
    return solve_batch(np.zeros((4, 2)), *NO_EDGES, [0, 2, 4], [0, 0, 0], factors=factors, **options)


def random_problem(seed, n_nodes=4, n_labels=3, n_factors=3):
    """Nodes, edges (loops and parallel ones among them) and factors over one to three nodes, some entries forbidden."""
    rng = np.random.default_rng(seed)
    edges = np.concatenate([random_edges(rng, n_nodes, 4), [[1, 1]]])
    pairwise = make_problem(rng, n_nodes, n_labels, edges)
    factors = []
    for _ in range(n_factors):
        nodes = rng.permutation(n_nodes)[: rng.integers(1, 4)]
        table = rng.normal(size=(n_labels,) * len(nodes))
        table[rng.random(table.shape) < 0.1] = -np.inf
        factors.append((nodes, table))
    return pairwise, factors


@given(seed=st.integers(0, 2**16))
def test_scores_are_plain_sums(seed):
    pairwise, factors = random_problem(seed)
    problem = check_problem(*pairwise.arrays, factors=factors)
    assert all(len(set(scope)) == len(scope) for scope, _ in problem.tables())
    for y in itertools.product(range(3), repeat=4):
        further = sum(float(table[tuple(y[i] for i in nodes)]) for nodes, table in factors)
        expected = pytest.approx(pairwise.score(y) + further)
        assert judge(problem, np.array(y))[0] == expected
        assert sum(float(table[tuple(y[i] for i in scope)]) for scope, table in problem.tables()) == expected


@given(seed=st.integers(0, 2**16))
def test_packed_factors_come_apart_again(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=5).tolist()
    scopes = [tuple(rng.permutation(5)[: rng.integers(1, 4)].tolist()) for _ in range(rng.integers(5))]
    factors = [(scope, rng.normal(size=[sizes[i] for i in scope])) for scope in scopes]
    again = list(Factors.pack(factors).unpack(sizes))
    assert [scope for scope, _ in again] == scopes
    for (_, table), (_, other) in zip(factors, again, strict=True):
        np.testing.assert_array_equal(table, other)


@given(seed=st.integers(0, 2**16))
def test_factors_over_pairs_and_edges_are_the_same(seed):
    """So that nobody has to know which of the two a solver likes better."""
    rng = np.random.default_rng(seed)
    p = make_problem(rng, 5, 3, random_edges(rng, 5, 6))
    as_factors = [(edge, table) for edge, table in zip(p.edges, p.interaction, strict=True) if edge[0] != edge[1]]
    loops = np.array([edge[0] == edge[1] for edge in p.edges], bool)
    found = solve(p.unary, p.interaction[loops], p.edges[loops], factors=as_factors, method="exhaustive")
    assert found.score == pytest.approx(solve(*p.arrays, method="exhaustive").score)


@given(seed=st.integers(0, 2**16), scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_what_a_gap_proves(seed, scale):
    rng = np.random.default_rng(seed)
    drawn = make_problem(rng, 4, 3, random_edges(rng, 4, 5))
    p = MapProblem(scale * drawn.unary, scale * drawn.interaction, drawn.edges)
    p = MapProblem(p.unary, p.interaction[p.edges[:, 0] != p.edges[:, 1]], p.edges[p.edges[:, 0] != p.edges[:, 1]])
    problem, y = check_problem(*p.arrays), rng.integers(3, size=4)
    score, rounding, _ = judge(problem, y)
    assert score == pytest.approx(p.score(y))
    assert rounding == pytest.approx(p.rounding(y))
    regret = p.regret(y)

    def status(gap, tol=0.0):
        return judge(problem, y, score + gap, tol)[2]

    assert status(0.0) == "optimal"
    assert status(4 * rounding + 0.5 * regret) == "approximate"
    if regret > 0:
        assert status(0.5 * regret, 0.6) == "within_tol"
        assert status(0.7 * regret, 0.6) == "approximate"


def test_factors_of_a_batch_go_to_their_graphs():
    factors = [([4, 2], TABLE), ([1], TABLE[0]), ([0, 1], TABLE)]
    problem = check_problem(np.zeros((5, 2)), *NO_EDGES, [0, 2, 2, 5], [0, 0, 0, 0], factors)
    first, empty, last = ([scope for scope, _ in problem.graph(g).tables()] for g in range(3))
    assert first == [(0,), (1,), (1,), (0, 1)]  # rows come first
    assert empty == []
    assert last == [(0,), (1,), (2,), (2, 0)]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_nodes_of_any_integer_type(dtype):
    factor = (np.array([2, 3], dtype), TABLE)
    assert solve_one([factor]).labels.tolist() == solve_two([factor]).labels.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "table", [TABLE.astype(int), TABLE.astype(np.float32), TABLE.tolist(), np.asfortranarray(TABLE)]
)
def test_tables_of_numbers_of_any_type(table):
    assert solve_one([([0, 1], table)]).labels.tolist() == solve_two([([0, 1], table)]).labels.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1, "pair"),
        ("ab", "pair"),
        (([0, 1],), "pair"),
        (([0, 1], TABLE, TABLE), "pair"),
        ((2, TABLE[0]), "vector of integers"),
        (([], np.array(5.0)), "vector of integers"),
        (([[0, 1]], TABLE), "vector of integers"),
        (([0.0, 1.0], TABLE), "vector of integers"),
        (([False, True], TABLE), "vector of integers"),
        ((["a", "b"], TABLE), "vector of integers"),
        (([[0], [1, 2]], TABLE), "differ in length"),
        (([-1, 0], TABLE), "node -1"),
        (([0, 4], TABLE), "node 4"),
        (([1, 1], TABLE), "distinct"),
        (([0, 1], np.zeros((2, 3))), "shape"),
        (([0, 1], [[1.0, 2.0], [3.0]]), "differ in length"),
        (([0, 1], TABLE.astype(complex)), "complex128"),
        (([0, 1], TABLE > 0), "bool"),
        (([0, 1], np.full((2, 2), np.nan)), "NaN"),
        (([0, 1], np.full((2, 2), np.inf)), "inf"),
        (([0, 1], np.full((2, 2), 1e201)), "1e200"),
    ],
)
@pytest.mark.parametrize("call", [solve_one, solve_two])
def test_refusals_name_the_factor(call, factor, words):
    """The second of two, also where it is the first of its graph."""
    with pytest.raises(ValueError, match=r"\A[^\n]*factors\[1\][^\n]*\Z") as caught:
        call([([2, 3], TABLE), factor])
    assert words in str(caught.value)


@pytest.mark.parametrize("factors", [None, "", ([0], [1.0]), {0: 1}, iter([])])
def test_what_is_no_list_of_factors_is_refused(factors):
    with pytest.raises(ValueError, match="factors"):
        solve_one(factors)


@pytest.mark.parametrize("part", ["unary", "interaction"])
def test_scores_whose_sum_could_overflow_are_refused_beside_factors(part):
    arrays = {"unary": np.zeros((3, 2)), "interaction": np.zeros((1, 2, 2)), "edges": [[0, 1]]}
    arrays[part][0, 1] = -1e250
    with pytest.raises(ValueError, match=rf"{part}\[0, 1.*\] .*1e200"):
        solve(**arrays, factors=[([0, 1, 2], np.zeros((2, 2, 2)))])
    arrays[part][0, 1] = -np.inf
    assert math.isfinite(solve(**arrays, factors=[([0, 1, 2], np.zeros((2, 2, 2)))]).score)
