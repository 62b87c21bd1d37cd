"""Factors over any number of nodes: every method against enumeration, the bound, trees, and bad input."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors.inference import _kernels, solve

APPROXIMATE = ["auto", "trws", "bp", "icm"]
TOL = 1e-4


def no_edges(n_labels):
    return np.zeros((0, n_labels, n_labels)), np.zeros((0, 2), np.int64)


def random_factors(rng, n_nodes, n_labels, n_factors, orders=(1, 2, 3, 4)):
    orders = [q for q in orders if q <= n_nodes]
    scopes = [rng.choice(n_nodes, rng.choice(orders), replace=False) for _ in range(n_factors)]
    return [(scope, rng.normal(size=(n_labels,) * len(scope)) * rng.choice([0.3, 1, 3])) for scope in scopes]


@st.composite
def problems(draw, max_nodes=6, forbid=0.0):
    """unary, interaction, edges, factors; sometimes with ties, self-loops, isolated nodes and extreme scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_nodes, n_labels = int(rng.integers(1, max_nodes + 1)), int(rng.integers(1, 4))
    n_edges = int(rng.integers(0, n_nodes + 1))
    unary, tables = rng.normal(size=(n_nodes, n_labels)), rng.normal(size=(n_edges, n_labels, n_labels))
    factors = random_factors(rng, n_nodes, n_labels, int(rng.integers(1, 5)))
    ties, scale = draw(st.booleans()), draw(st.sampled_from([1e-12, 1.0, 1e12]))

    def change(values):
        values = scale * (np.round(values) if ties else values)
        values[rng.random(values.shape) < forbid] = -np.inf
        return values

    edges = rng.integers(0, n_nodes, (n_edges, 2))
    return change(unary), change(tables), edges, [(scope, change(table)) for scope, table in factors]


def all_scores(problem):
    """The score of every labelling, term by term; the optimum is the largest."""
    unary, interaction, edges, factors = problem
    terms = [((i,), row) for i, row in enumerate(unary)]
    terms += list(zip(edges.tolist(), interaction, strict=True)) + [(list(scope), table) for scope, table in factors]
    return {
        y: math.fsum(table[tuple(y[i] for i in scope)] for scope, table in terms)
        for y in itertools.product(range(unary.shape[1]), repeat=len(unary))
    }


def rounding(problem):
    unary, interaction, _, factors = problem
    arrays = [unary, interaction, *(table for _, table in factors)]
    return 1e-12 * sum(np.abs(array[np.isfinite(array)]).sum() for array in arrays)


def run(problem, method, **options):
    unary, interaction, edges, factors = problem
    return solve(unary, interaction, edges, method=method, factors=factors, **options)


@given(problem=problems())
def test_exhaustive_finds_the_optimum(problem):
    scores = all_scores(problem)
    r = run(problem, "exhaustive")
    assert r.score == scores[tuple(r.labels)] == pytest.approx(max(scores.values()), abs=rounding(problem))
    assert (r.bound, r.status) == (r.score, "optimal")


@pytest.mark.parametrize("method", APPROXIMATE)
@given(problem=problems())
def test_score_and_bound_hold(method, problem):
    scores, slack = all_scores(problem), rounding(problem)
    r = run(problem, method, tol=TOL)
    optimum = max(scores.values())
    assert r.score == pytest.approx(scores[tuple(r.labels)], abs=slack)
    assert r.bound >= max(optimum - slack, r.score)
    if r.status == "optimal":
        assert (
            r.gap
            <= TOL * sum(np.ptp(table) for table in [*problem[0], *problem[1], *(t for _, t in problem[3])]) + slack
        )


@pytest.mark.parametrize("method", [*APPROXIMATE, "exhaustive"])
@given(problem=problems(max_nodes=5, forbid=0.3))
def test_forbidden_entries_are_respected(method, problem):
    scores = all_scores(problem)
    optimum = max(scores.values())
    r = run(problem, method)
    assert r.bound >= optimum - rounding(problem)
    assert r.score == pytest.approx(scores[tuple(r.labels)], abs=rounding(problem))
    if r.status == "infeasible":
        assert r.score == r.bound == optimum == -np.inf
    else:
        assert (r.status == "unresolved") == (r.score == -np.inf)


def test_most_small_problems_are_solved():
    rng = np.random.default_rng(0)
    problem_list = [
        (rng.normal(size=(6, 3)), *no_edges(3), random_factors(rng, 6, 3, 5, (2, 3, 4))) for _ in range(100)
    ]
    solved = dict.fromkeys(APPROXIMATE, 0)
    tight = 0
    for problem in problem_list:
        optimum = max(all_scores(problem).values())
        for method in APPROXIMATE:
            solved[method] += run(problem, method).score > optimum - 1e-9
        tight += run(problem, "trws", tol=1e-9).gap < 1e-6
    assert solved["icm"] < solved["trws"] <= solved["auto"]
    assert min(solved["bp"], solved["trws"]) >= 90
    assert tight >= 70  # the relaxation itself is tight on 75 of these


@st.composite
def trees(draw):
    """A factor graph without cycles: each factor shares one node with those before it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_labels, n_nodes, factors = int(rng.integers(2, 4)), 1, []
    while n_nodes < 6:
        new = list(range(n_nodes, n_nodes + int(rng.integers(1, 4))))
        scope = rng.permutation([int(rng.integers(n_nodes)), *new])
        factors.append((scope, rng.normal(size=(n_labels,) * len(scope))))
        n_nodes += len(new)
    if draw(st.booleans()):
        factors = [(scope, np.round(table)) for scope, table in factors]
    return rng.normal(size=(n_nodes, n_labels)), *no_edges(n_labels), factors


@pytest.mark.parametrize("method", ["trws", "bp"])
@given(problem=trees())
def test_one_sweep_solves_trees(method, problem):
    r = run(problem, method, max_iter=1, tol=1e-9)
    optimum = max(all_scores(problem).values())
    assert r.score == pytest.approx(optimum, abs=1e-9)
    if method == "trws":
        assert r.bound == pytest.approx(optimum, abs=1e-9)
        assert r.status == "optimal"


@pytest.mark.parametrize("method", ["auto", "trws"])
@given(problem=problems(max_nodes=5))
def test_reduced_costs_bound_every_label(method, problem):
    r = run(problem, method, reduced_costs=True)
    best = np.full(problem[0].shape, -np.inf)
    for y, score in all_scores(problem).items():
        here = (np.arange(len(y)), list(y))
        best[here] = np.maximum(best[here], score)
    assert (r.reduced_costs >= 0).all()
    assert (r.bound - r.reduced_costs >= best - rounding(problem)).all()


@given(problem=trees())
def test_reduced_costs_are_exact_on_trees(problem):
    r = run(problem, "trws", reduced_costs=True)
    best = np.full(problem[0].shape, -np.inf)
    for y, score in all_scores(problem).items():
        here = (np.arange(len(y)), list(y))
        best[here] = np.maximum(best[here], score)
    np.testing.assert_allclose(r.bound - r.reduced_costs, best, atol=1e-9)


@pytest.mark.parametrize("method", APPROXIMATE)
@given(problem=problems(), seed=st.integers(0, 99))
def test_result_is_never_below_the_start(method, problem, seed):
    start = np.random.default_rng(seed).integers(0, problem[0].shape[1], len(problem[0]))
    assert run(problem, method, init=start).score >= all_scores(problem)[tuple(start)] - rounding(problem)


@given(problem=problems())
def test_bound_falls_with_every_sweep(problem):
    bounds = [run(problem, "trws", tol=0, max_iter=k).bound for k in (1, 2, 4, 8)]
    assert (np.diff(bounds) <= rounding(problem)).all()


@given(problem=problems(max_nodes=5), seed=st.integers(0, 99))
def test_axes_may_come_in_any_order(problem, seed):
    unary, interaction, edges, factors = problem
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(scope)) for scope, _ in factors]
    turned = [(scope[order], table.transpose(order)) for order, (scope, table) in zip(orders, factors, strict=True)]
    one, other = run(problem, "exhaustive"), run((unary, interaction, edges, turned), "exhaustive")
    assert one.score == pytest.approx(other.score, abs=rounding(problem))
    np.testing.assert_array_equal(one.labels, other.labels)


@given(problem=problems(max_nodes=5))
def test_a_large_constant_changes_no_label(problem):
    unary, interaction, edges, factors = problem
    factors = [(scope, np.round(1e3 * table / max(np.abs(table).max(), 1e-300))) for scope, table in factors]
    unary, interaction = np.zeros_like(unary), np.zeros_like(interaction)
    raised = [(scope, table + 2.0**40) for scope, table in factors]
    one = run((unary, interaction, edges, factors), "trws")
    other = run((unary, interaction, edges, raised), "trws")
    np.testing.assert_array_equal(one.labels, other.labels)
    assert other.score == one.score + len(factors) * 2.0**40


def test_pairwise_factors_do_as_edges_do():
    rng = np.random.default_rng(1)
    unary, tables = rng.normal(size=(30, 4)), 0.3 * rng.normal(size=(45, 4, 4))
    edges = np.array([rng.choice(30, 2, replace=False) for _ in range(45)])
    as_edges = solve(unary, tables, edges, method="trws", tol=1e-6)
    as_factors = solve(unary, *no_edges(4), method="trws", tol=1e-6, factors=list(zip(edges, tables, strict=True)))
    assert as_factors.score == pytest.approx(as_edges.score, abs=1e-6)
    assert as_factors.bound == pytest.approx(as_edges.bound, abs=1e-3)


def test_edges_within_a_factor_do_not_loosen_the_bound():
    rng = np.random.default_rng(2)
    edges = np.array([[0, 1], [1, 2], [2, 0]])
    tables, table = 3 * rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3))
    r = solve(rng.normal(size=(3, 3)), tables, edges, method="trws", tol=1e-9, factors=[((0, 1, 2), table)])
    assert r.gap < 1e-9  # the triangle alone has a gap: frustrated cycles are what the relaxation cannot see


@pytest.mark.parametrize("method", [*APPROXIMATE, "exact", "exhaustive"])
def test_the_only_labelling_is_optimal(method):
    """Tolerances refer to what labellings differ by: here nothing, so that only rounding is left between the sums."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
        problem = rng.normal(size=(4, 1)), rng.normal(size=(4, 1, 1)), edges, [([0, 1, 2], rng.normal(size=(1, 1, 1)))]
        assert run(problem, method).status == "optimal"


def test_what_is_asked_for_comes_without_an_answer_too():
    """Neighbours on a cycle of five must differ, which two labels cannot do, though the relaxation does not know."""
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    differ = np.stack([np.where(np.eye(2) > 0, -np.inf, 0.0)] * 5)
    r = run((np.zeros((5, 2)), differ, edges, [([0, 2, 4], np.zeros((2, 2, 2)))]), "trws", reduced_costs=True)
    assert r.status == "unresolved"
    assert r.reduced_costs.shape == (5, 2)


def test_float32_and_lists_are_welcome():
    table = np.zeros((2, 2, 2), np.float32)
    table[1, 0, 1] = 1
    r = solve(np.zeros((3, 2), np.float32), *no_edges(2), factors=[[[0, 1, 2], table]])
    np.testing.assert_array_equal(r.labels, [1, 0, 1])
    assert (r.score, r.status) == (1.0, "optimal")


@pytest.mark.parametrize("method", ["alpha-expansion", "tree", "maxflow"])
def test_methods_for_pairs_refuse_factors(method):
    message = f"method '{method}' does not accept factors; use one of auto, trws, bp, icm, exact, exhaustive"
    with pytest.raises(ValueError, match=re.escape(message)):
        solve(np.zeros((3, 2)), *no_edges(2), method=method, factors=[((0, 1, 2), np.zeros((2, 2, 2)))])


TABLE = np.zeros((2, 2, 2))


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (((0, 1, 3), TABLE), "factors[1] has node 3, but the nodes are numbered 0 to 2"),
        (((0, -1, 2), TABLE), "factors[1] has node -1, but the nodes are numbered 0 to 2"),
        (((0, 1, 1), TABLE), "factors[1] needs distinct nodes, got [0, 1, 1]"),
        (((), np.zeros(())), "factors[1] needs a non-empty vector of integers as its nodes, got the shape (0,)"),
        (
            ((0.0, 1.0, 2.0), TABLE),
            "factors[1] needs a non-empty vector of integers as its nodes, got the shape (3,)",
        ),
        (((0, 1), TABLE), "the table of factors[1] must have the shape (2, 2), one axis per node, got (2, 2, 2)"),
        (
            ((0, 1), [[0.0, 1.0], [0.0]]),
            "the table of factors[1] must be an array of numbers, but its rows differ in length",
        ),
        (((0, 1), np.array([[0, 1], [2, np.nan]])), "factors[1][1][1, 1] is NaN: scores must be finite"),
        (((0, 1), np.array([[0, np.inf], [2, 0]])), "factors[1][1][0, 1] is +inf: scores must be finite"),
        (((0, 1), np.array([[0, 1e300], [2, 0]])), "factors[1][1][0, 1] is beyond 1e200"),
        (TABLE, "factors[1] must be a pair (nodes, table), got ndarray"),
        (((0, 1, 2),), "factors[1] must be a pair (nodes, table), got tuple"),
    ],
)
def test_bad_factors_are_refused(factor, message):
    good = ((0, 1, 2), TABLE)
    with pytest.raises(ValueError, match=re.escape(message)):
        solve(np.zeros((3, 2)), *no_edges(2), method="trws", factors=[good, factor])


@pytest.mark.parametrize(
    ("unary", "edges", "message"),
    [
        (
            np.full((3, 2), np.nan),
            [[0, 1]],
            "unary[0, 0] is NaN: scores must be finite, or -inf where a label is forbidden",
        ),
        (np.zeros((3, 2)), [[0, 3]], "edges[0] is (0, 3), but the nodes of its graph are numbered 0 to 2"),
    ],
)
def test_the_rest_is_checked_as_well(unary, edges, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        solve(unary, np.zeros((1, 2, 2)), np.array(edges), method="trws", factors=[((0, 1, 2), TABLE)])


def test_exhaustive_knows_its_limit():
    with pytest.raises(ValueError, match="at most 1e8 labellings"):
        solve(np.zeros((60, 2)), *no_edges(2), method="exhaustive", factors=[((0, 1, 2), TABLE)])


KERNEL_CALL = {
    "unary": np.zeros(6), "interaction": np.zeros(0), "edges": np.zeros((0, 2), np.int64),
    "node_ptr": np.array([0, 2, 3]), "edge_ptr": np.zeros(3, np.int64), "n_labels": 2, "row_ptr": None,
    "table_ptr": None,
}  # fmt: skip
FACTORS = {"ptr": np.array([0, 2]), "nodes": np.array([0, 1]), "tables": np.zeros(4)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ptr": np.zeros(0, np.int64)}, "the pointers of factors must rise from 0"),
        ({"ptr": np.array([0, 3])}, "the pointers of factors must rise from 0"),
        ({"ptr": np.array([0, 5, 2])}, "the pointers of factors must rise from 0"),
        ({"ptr": np.array([0, 0, 2])}, "every factor needs at least one node"),
        ({"nodes": np.array([0, 3])}, "the nodes of a factor are out of range"),
        ({"nodes": np.array([1, 1])}, "the nodes of a factor must be distinct"),
        ({"nodes": np.array([1, 2])}, "the nodes of a factor belong to several graphs"),
        ({"tables": np.zeros(3)}, "the tables are too short"),
        ({"tables": np.zeros(5)}, "the tables are too long"),
    ],
)
def test_the_kernel_checks_what_it_is_given(change, message):
    _kernels.GraphsFloat64(**KERNEL_CALL).add_factors(**FACTORS)
    with pytest.raises(ValueError, match=re.escape(message)):
        _kernels.GraphsFloat64(**KERNEL_CALL).add_factors(**(FACTORS | change))


def test_the_kernel_takes_no_other_types():
    with pytest.raises(TypeError):
        _kernels.GraphsFloat64(**(KERNEL_CALL | {"unary": np.zeros(6, np.float32)}))
