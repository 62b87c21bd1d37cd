"""Results: one graph of a batch is what solving it alone returns, and gaps mean the same everywhere."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import problems

from neuralfactors.inference import BatchResult, Result, solve, solve_batch

FORBIDDEN = np.array([[-np.inf, -np.inf], [0.0, 1.0]])


@pytest.fixture
def batch():
    """Three graphs, the second without nodes."""
    unary, tables = np.array([[0.0, 1.0], [0.2, 0.0], [3.0, 0.0]]), np.eye(2)[None]
    return solve_batch(unary, tables, [[0, 1]], [0, 2, 2, 3], [0, 1, 1, 1], method="trws", reduced_costs=True)


def test_graphs_of_a_batch_by_number(batch):
    assert len(batch) == 3
    assert [r.labels.tolist() for r in batch] == [[1, 1], [], [0]]
    assert [r.score for r in batch] == [2.0, 0.0, 3.0]
    assert [r.reduced_costs.shape for r in batch] == [(2, 2), (0, 2), (1, 2)]
    assert batch[-1].labels.tolist() == batch[np.int64(2)].labels.tolist() == [0]
    assert all(isinstance(getattr(batch[0], name), kind) for name, kind in (("score", float), ("status", str)))
    assert isinstance(batch[0].iterations, int)


@pytest.mark.parametrize("g", [3, -4, 100])
def test_a_graph_that_is_not_there(batch, g):
    with pytest.raises(IndexError, match=f"{g}.*3"):
        batch[g]


def test_results_do_not_change(batch):
    for result, name in ((batch, "labels"), (batch[0], "score")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, name, None)


@given(p=problems(forbid=True), method=st.sampled_from(["auto", "trws", "icm", "exhaustive"]))
def test_gaps(p, method):
    """Nothing scores more than the bound; an infeasible problem leaves nothing to gain."""
    found = solve(*p.arrays, method=method, tol=0.0)
    assert found.gap >= 0 or found.gap >= -1e-9 * (1 + p.magnitude)
    assert (found.status == "infeasible") <= (found.gap == 0.0)
    both = solve_batch(*p.arrays, [0, len(p.unary)], [0, len(p.edges)], method=method, tol=0.0)
    assert both.gap.tolist() == [found.gap]


def test_nothing_allowed():
    found = solve(FORBIDDEN, np.zeros((0, 2, 2)), [])
    assert (found.status, found.score, found.gap) == ("infeasible", -np.inf, 0.0)
    assert found.labels.shape == (2,)


def test_joined_results_come_apart_again():
    edges, tables = np.array([[0, 1]]), np.eye(2)[None]
    alone = [solve(np.array([[0.0, 1.0], [k, 0.0]]), tables, edges, method="trws", reduced_costs=True) for k in (0, 5)]
    joined = BatchResult.join(alone, np.array([0, 2, 4]))
    for one, again in zip(alone, joined, strict=True):
        for field in dataclasses.fields(Result):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(again, field.name), field.name)


def test_no_results_make_an_empty_batch():
    empty = BatchResult.join([], np.array([0]))
    assert (len(empty), list(empty), empty.labels.dtype) == (0, [], np.int64)
    assert empty.gap.shape == empty.score.shape == (0,)
    assert empty.reduced_costs is None
