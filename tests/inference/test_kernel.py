"""The call into the kernels: what they fill has the right shapes and types, and their input stays as it was."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SLACK, problems

from neuralfactors.inference._kernel import solve_in_kernel
from neuralfactors.inference._result import STATUSES
from neuralfactors.inference._validate import Options, check_problem

OPTIONS = Options(tol=0.0)


def batch_of(drawn):
    """Problems of one type and number of labels one after the other, as a batch."""
    nodes = np.cumsum([0, *(len(p.unary) for p in drawn)])
    rows = np.cumsum([0, *(len(p.edges) for p in drawn)])
    edges = np.concatenate([p.edges + first for p, first in zip(drawn, nodes, strict=False)])
    arrays = (np.concatenate([getattr(p, name) for p in drawn]) for name in ("unary", "interaction"))
    return check_problem(*arrays, edges, nodes, rows)


@given(p=problems(), n=st.integers(1, 4), n_threads=st.integers(1, 3))
def test_every_graph_of_a_batch_is_solved_for_itself(p, n, n_threads):
    alone = solve_in_kernel(batch_of([p]), OPTIONS)
    whole = solve_in_kernel(batch_of([p] * n), OPTIONS, n_threads=n_threads)
    assert len(whole) == n
    np.testing.assert_array_equal(whole.labels.reshape(n, -1), np.tile(alone.labels, (n, 1)))
    assert set(whole.score) == set(alone.score)
    assert set(whole.status) == set(alone.status)


@given(p=problems(forbid=True))
def test_what_is_filled(p):
    problem = batch_of([p])
    before = problem.unary.copy(), problem.interaction.copy(), problem.edges.copy()
    found = solve_in_kernel(problem, replace(OPTIONS, method="trws", reduced_costs=True))
    assert found.labels.dtype == np.int64
    assert found.iterations.dtype == np.int32
    assert found.reduced_costs.shape == p.unary.shape
    assert set(found.status) <= set(STATUSES)
    assert ((found.labels >= 0) & (found.labels < p.unary.shape[1])).all()
    score = p.score(found.labels)
    assert found.score[0] == score or abs(found.score[0] - score) <= SLACK * (1 + p.magnitude)
    for given_, now in zip(before, (problem.unary, problem.interaction, problem.edges), strict=True):
        np.testing.assert_array_equal(given_, now)


def test_no_reduced_costs_unless_they_are_asked_for():
    problem = check_problem(np.zeros((2, 2)), np.zeros((1, 2, 2)), [[0, 1]])
    assert solve_in_kernel(problem, OPTIONS).reduced_costs is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_sums_in_double_precision_whatever_their_type(dtype):
    unary = np.zeros((1001, 2), dtype)
    unary[:, 1] = 0.1
    unary[0, 1] = 2**24  # beside it 0.1 is nothing in single precision
    found = solve_in_kernel(check_problem(unary, np.zeros((0, 2, 2), dtype), []), OPTIONS)
    assert found.score[0] == pytest.approx(math.fsum(unary[:, 1].astype(float)), rel=1e-12)


def test_a_start_of_ones_own_is_where_the_search_begins():
    tables = 2 * np.eye(2)[None]  # both labellings without a change are local maxima
    problem = check_problem(np.array([[0.0, 1.0], [0.0, 0.0]]), tables, [[0, 1]])
    for start, score in (([0, 0], 2.0), ([1, 1], 3.0)):
        found = solve_in_kernel(problem, replace(OPTIONS, method="icm"), np.array(start))
        assert (found.labels.tolist(), found.score[0]) == (start, score)


def test_a_callback_sees_the_search_and_its_exception_ends_it():
    rng = np.random.default_rng(0)
    edges = rng.integers(60, size=(200, 2))
    problem = check_problem(rng.normal(size=(60, 4)), 3 * rng.normal(size=(200, 4, 4)), edges)
    seen = []
    options = replace(OPTIONS, method="trws", max_iter=20)
    found = solve_in_kernel(problem, options, callback=lambda *news: seen.append(news))
    seconds, scores, bounds = zip(*seen, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(scores) == sorted(scores)
    assert scores[-1] == pytest.approx(found.score[0])
    assert min(bounds) >= found.score[0]

    def stop(*news):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        solve_in_kernel(problem, options, callback=stop)
