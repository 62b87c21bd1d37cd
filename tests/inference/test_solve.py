"""Every method against exhaustive search, and what the answers must satisfy whatever the method."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SLACK, MapProblem, brute_force, make_problem, planar_graph, problems, random_tree

from neuralfactors.inference import solve

GENERAL = ["auto", "alpha-expansion", "trws", "bp", "icm"]
TOL = 1e-4


def check_answer(problem, r, optimum, tol=TOL):
    slack = SLACK * problem.magnitude
    assert r.labels.shape == (len(problem.unary),)
    assert r.labels.dtype == np.int64
    if r.status == "infeasible":
        assert optimum == -np.inf
        assert r.score == r.bound == -np.inf
        return
    assert r.bound >= optimum - slack
    if r.status == "unresolved":
        assert r.score == -np.inf
        return
    assert r.score == pytest.approx(problem.score(r.labels), abs=slack)
    assert r.score <= optimum + slack
    assert r.bound >= r.score
    assert r.gap == r.bound - r.score
    if r.status == "optimal":
        assert r.score >= optimum - problem.rounding(r.labels)
    if r.status == "within_tol":
        assert r.score >= optimum - tol * problem.regret(r.labels) - slack


@given(problem=problems())
def test_exhaustive_finds_what_enumeration_finds(problem):
    r = solve(*problem.arrays, method="exhaustive")
    optimum = brute_force(problem)
    assert r.score == pytest.approx(optimum, abs=SLACK * problem.magnitude)
    assert (r.bound, r.status) == (r.score, "optimal")


@pytest.mark.parametrize("method", GENERAL)
@given(problem=problems())
def test_answer_agrees_with_exhaustive_search(method, problem):
    check_answer(problem, solve(*problem.arrays, method=method, tol=TOL), brute_force(problem))


@given(problem=problems(max_nodes=3, max_labels=11), tol=st.sampled_from([2e-3, 2e-2, 0.3]))
def test_bound_of_a_coarse_tolerance_holds(problem, tol):
    check_answer(problem, solve(*problem.arrays, tol=tol), brute_force(problem), tol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 16, 20, 24, 56])
def test_rows_that_fill_whole_vectors_and_rows_that_do_not(n_labels, dtype):
    rng = np.random.default_rng(n_labels)
    p = make_problem(rng, 40, n_labels, random_tree(rng, 40), dtype=dtype)
    optimum = solve(*p.arrays, method="tree").score
    r = solve(*p.arrays, method="trws", tol=0, max_iter=200)
    check_answer(p, r, optimum)
    assert r.score == pytest.approx(optimum)
    assert r.bound == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("n_labels", [8, 21, 33])
def test_a_coarse_tolerance_costs_little_score_and_no_truth(n_labels):
    rng = np.random.default_rng(n_labels)
    p = make_problem(rng, 120, n_labels, planar_graph(rng, 120), strength=0.2, dtype=np.float32)
    coarse, fine = solve(*p.arrays, tol=0.02), solve(*p.arrays, tol=1e-6, max_iter=200)
    assert coarse.iterations < fine.iterations
    assert fine.score - 0.02 * p.regret(fine.labels) <= coarse.score <= coarse.bound
    assert coarse.bound >= fine.score


@pytest.mark.parametrize("method", [*GENERAL, "exhaustive"])
@given(problem=problems(forbid=True, max_nodes=4, max_labels=3))
def test_forbidden_entries_are_respected(method, problem):
    check_answer(problem, solve(*problem.arrays, method=method, tol=TOL), brute_force(problem))


@pytest.mark.parametrize("method", ["auto", "trws"])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_forbidden_entries_do_not_loosen_the_tolerance(method, share):
    rng = np.random.default_rng(0)
    p = make_problem(rng, 3000, 6, planar_graph(rng, 3000), strength=0.3)
    p.interaction[rng.random(p.interaction.shape) < share] = -np.inf
    r = solve(*p.arrays, method=method, tol=TOL)
    assert r.status == "optimal" or (r.status == "within_tol") == (r.gap <= TOL * p.regret(r.labels))


@given(problem=problems(max_nodes=6, max_labels=3))
def test_auto_is_nearly_always_optimal_on_small_problems(problem):
    r = solve(*problem.arrays)
    assert r.score >= brute_force(problem) - TOL * problem.regret(r.labels) - SLACK * problem.magnitude


@pytest.mark.parametrize("method", ["tree", "auto", "trws"])
@given(problem=problems(edges_of=random_tree, max_nodes=6, max_labels=4))
def test_forests_are_solved_exactly(method, problem):
    r = solve(*problem.arrays, method=method)
    optimum, slack = brute_force(problem), SLACK * problem.magnitude
    assert r.score == pytest.approx(optimum, abs=slack)
    assert r.bound == pytest.approx(optimum, abs=slack)
    assert r.status == "optimal"


@given(problem=problems(edges_of=random_tree, forbid=True, max_nodes=5, max_labels=3))
def test_tree_knows_when_every_labelling_is_forbidden(problem):
    r = solve(*problem.arrays, method="tree")
    optimum = brute_force(problem)
    assert r.score == pytest.approx(optimum, abs=SLACK * problem.magnitude)
    assert r.status == ("infeasible" if optimum == -np.inf else "optimal")


@pytest.mark.parametrize("method", GENERAL)
@given(problem=problems(), seed=st.integers(0, 99))
def test_never_below_the_start(method, problem, seed):
    start = np.random.default_rng(seed).integers(0, problem.unary.shape[1], len(problem.unary))
    r = solve(*problem.arrays, method=method, init=start)
    assert r.score >= problem.score(start) - SLACK * problem.magnitude


@pytest.mark.parametrize("method", ["auto", "trws", "bp", "icm", "alpha-expansion"])
def test_one_label_no_edges_no_nodes(method):
    one = solve(np.ones((3, 1)), np.full((2, 1, 1), 0.5), [[0, 1], [1, 2]], method=method)
    assert (one.labels.tolist(), one.score, one.status) == ([0, 0, 0], 4.0, "optimal")
    loose = solve(np.array([[1.0, 2.0], [4.0, 3.0]]), np.zeros((0, 2, 2)), np.zeros((0, 2), int), method=method)
    assert (loose.labels.tolist(), loose.score, loose.bound) == ([1, 0], 6.0, 6.0)
    empty = solve(np.zeros((0, 3)), np.zeros((0, 3, 3)), [], method=method)
    assert (empty.labels.tolist(), empty.score, empty.bound, empty.status) == ([], 0.0, 0.0, "optimal")


def test_all_zero_scores_give_the_first_label_everywhere():
    rng = np.random.default_rng(0)
    edges = planar_graph(rng, 30)
    for method in GENERAL:
        r = solve(np.zeros((30, 5)), np.zeros((len(edges), 5, 5)), edges, method=method)
        assert r.labels.tolist() == [0] * 30
        assert (r.score, r.bound, r.status) == (0.0, 0.0, "optimal")


@pytest.mark.parametrize("seed", range(5))
def test_bound_proves_the_optimum_where_the_relaxation_is_tight(seed):
    rng = np.random.default_rng(seed)
    edges = planar_graph(rng, 60)
    p = make_problem(rng, 60, 6, edges, strength=0.05)
    trws, auto = solve(*p.arrays, method="trws"), solve(*p.arrays)
    assert trws.status == auto.status == "optimal"
    assert auto.score == pytest.approx(trws.score, abs=1e-9)


@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0])
def test_auto_beats_its_rivals_on_planar_graphs(strength):
    totals = dict.fromkeys(GENERAL, 0.0)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = make_problem(rng, 120, 9, planar_graph(rng, 120), strength=strength, dtype=np.float32)
        for method in GENERAL:
            r = solve(*p.arrays, method=method)
            assert r.score <= r.bound
            totals[method] += r.score
    assert totals["auto"] >= 0.998 * totals["bp"]
    assert totals["auto"] > max(totals[method] for method in ("alpha-expansion", "trws", "icm"))


@pytest.mark.parametrize("seed", range(4))
def test_auto_keeps_up_with_bp_under_many_constraints(seed):
    rng = np.random.default_rng(seed)
    p = make_problem(rng, 400, 6, planar_graph(rng, 400))
    p.interaction[rng.random(p.interaction.shape) < 0.2] = -np.inf
    assert solve(*p.arrays).score > 0.99 * solve(*p.arrays, method="bp").score


@pytest.mark.parametrize("seed", range(4))
def test_auto_keeps_up_with_bp_on_dense_graphs(seed):
    rng = np.random.default_rng(seed)
    p = make_problem(rng, 60, 10, np.c_[np.triu_indices(60, 1)])
    assert solve(*p.arrays).score > 0.995 * solve(*p.arrays, method="bp").score


def test_self_loop_counts_as_unary_and_parallel_edges_add_up():
    unary = np.array([[0.0, 0.0], [0.0, 0.0]])
    tables = np.array([[[0.0, 9.0], [9.0, 1.0]], [[0.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]])
    edges = [[0, 0], [0, 1], [1, 0]]  # the loop favours label 1 of node 0 by 1, the pair labels 0 and 1 by 5
    r = solve(unary, tables, edges)
    assert (r.labels.tolist(), r.score) == ([0, 1], 5.0)


def test_unit_of_measure_does_not_matter_at_the_far_ends():
    rng = np.random.default_rng(3)
    p = make_problem(rng, 40, 5, planar_graph(rng, 40), strength=0.5)
    expected = solve(*p.arrays).labels
    for scale in (1e-300, 1e-25, 1e25, 1e150):
        assert (solve(scale * p.unary, scale * p.interaction, p.edges).labels == expected).all()


@given(problem=problems(max_nodes=5, max_labels=3), method=st.sampled_from(["auto", "trws", "tree"]))
def test_reduced_costs_bound_every_label(problem, method):
    p = problem
    if method == "tree":
        p = MapProblem(p.unary, p.interaction[:0], p.edges[:0])
    r = solve(*p.arrays, method=method, reduced_costs=True)
    assert r.reduced_costs.shape == p.unary.shape
    assert (r.reduced_costs >= 0).all()
    for i, a in np.ndindex(p.unary.shape):
        only = p.unary.copy()
        only[i] = np.where(np.arange(only.shape[1]) == a, only[i], -np.inf)
        best = brute_force(MapProblem(only, p.interaction, p.edges))
        assert r.bound - r.reduced_costs[i, a] >= best - SLACK * p.magnitude


def test_reduced_costs_of_a_chain_are_exact():
    rng = np.random.default_rng(1)
    p = make_problem(rng, 5, 3, [[i, i + 1] for i in range(4)])
    r = solve(*p.arrays, reduced_costs=True)
    for i, a in np.ndindex(p.unary.shape):
        only = p.unary.copy()
        only[i, np.arange(3) != a] = -np.inf
        assert r.score - r.reduced_costs[i, a] == pytest.approx(brute_force(MapProblem(only, p.interaction, p.edges)))


def test_the_dual_bound_never_rises():
    rng = np.random.default_rng(4)
    p = make_problem(rng, 80, 6, planar_graph(rng, 80), strength=0.5)
    bounds = [solve(*p.arrays, method="trws", max_iter=k).bound for k in range(1, 25)]
    assert (np.diff(bounds) <= 1e-6 * bounds[0]).all()
    assert bounds[-1] < bounds[0]


def test_more_iterations_prove_what_the_default_leaves_open():
    rng = np.random.default_rng(8)
    p = make_problem(rng, 150, 12, planar_graph(rng, 150), strength=0.16, dtype=np.float32)
    quick, patient = solve(*p.arrays), solve(*p.arrays, max_iter=400)
    assert patient.score >= quick.score
    assert patient.bound <= quick.bound
    assert patient.status == "optimal"


@pytest.mark.realdata
def test_auto_on_learned_potentials(data_dir):
    best = json.loads((data_dir / "potentials" / "best.json").read_text())
    gaps, proved = [], []
    for name, known in best.items():
        arrays = np.load(data_dir / "potentials" / name)
        p = MapProblem(*(arrays[key].astype(np.float32) for key in ("unary", "interaction")), arrays["edges"])
        r = solve(*p.arrays)
        assert r.bound >= known["best_known"] - 1e-3
        gaps.append((known["best_known"] - r.score) / known["best_known"])
        proved.append(r.status == "optimal")
    assert np.mean(gaps) < 3e-4
    assert np.mean(proved) >= 0.4
