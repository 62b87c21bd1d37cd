"""WCSP files become problems whose scores are costs with the sign changed."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_files import problem_score, random_factors, solve_by_toulbar2

from neuralfactors.inference import read_wcsp, solve

TOP = 50
ALL_DIFFERENT = "shared 4 4 6 1\n4 4 4 4\n-2 0 1 0 4\n0 0 1\n1 1 1\n2 2 1\n3 3 1\n" + "".join(
    f"2 {i} {j} 0 -1\n" for i, j in [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="problem.wcsp"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def random_costs(rng):
    """Small numbers and, now and then, one that is too much."""
    return lambda shape: np.where(rng.random(shape) < 0.1, rng.integers(TOP, 99, shape), rng.integers(0, 7, shape))


def toulbar2_cost(path):
    pytest.importorskip("pytoulbar2")
    ((_, cost),) = solve_by_toulbar2([path])
    return cost


@given(seed=st.integers(0, 2**32 - 1))
def test_every_labelling_scores_its_cost(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    truth = random_factors(rng, random_costs(rng), max_order=4)
    path = tmp_path_factory.mktemp("wcsp") / "random.wcsp"
    path.write_text(truth.wcsp(TOP))
    problem = read_wcsp(path)
    for y in truth.labellings():
        assert problem_score(problem, y) == truth.score(y, TOP)
    best = max(truth.score(y, TOP) for y in truth.labellings())
    assert solve(*problem, method="exhaustive").score == best


def test_toulbar2_finds_the_same_optimum(write):
    pytest.importorskip("pytoulbar2")
    rng = np.random.default_rng(0)
    truths = [random_factors(rng, lambda shape: rng.integers(0, 9, shape)) for _ in range(30)]
    paths = [write(truth.wcsp(1000), f"{k}.wcsp") for k, truth in enumerate(truths)]  # no sum is as large as 1000
    for path, (_, cost) in zip(paths, solve_by_toulbar2(paths), strict=True):
        assert solve(*read_wcsp(path), method="exhaustive").score == -cost


def test_forbidden_tuples_are_those_of_toulbar2(write):
    path = write("hard 2 2 2 10\n2 2\n2 0 1 0 2\n0 0 10\n1 1 12\n1 0 3 1\n0 9\n")
    result = solve(*read_wcsp(path))
    assert (result.labels.tolist(), result.score) == ([1, 0], -3.0)
    assert toulbar2_cost(path) == 3
    assert solve(*read_wcsp(write("never 1 2 1 5\n2\n1 0 5 0\n"))).status == "infeasible"


def test_shared_functions(write):
    path = write(ALL_DIFFERENT)
    problem = read_wcsp(path)
    assert len(problem.edges) == 6
    for table in problem.interaction:
        np.testing.assert_array_equal(table, np.where(np.eye(4), -np.inf, 0.0))
    assert sorted(solve(*problem).labels.tolist()) == [0, 1, 2, 3]
    assert toulbar2_cost(path) == 0


def test_the_last_of_equal_tuples_counts(write):
    path = write("twice 1 2 1 100\n2\n1 0 50 3\n0 1\n0 7\n1 8\n")
    np.testing.assert_array_equal(read_wcsp(path).unary, [[-7.0, -8.0]])
    assert toulbar2_cost(path) == 7


def test_costs_are_compared_as_whole_numbers(write):
    path = write(f"large 1 3 1 {2**62 + 1}\n3\n1 0 0 2\n0 {2**62}\n1 {2**62 + 1}\n")
    np.testing.assert_array_equal(read_wcsp(path).unary, [[-(2.0**62), -np.inf, 0.0]])


def test_a_compressed_file(tmp_path):
    path = tmp_path / "shared.wcsp.gz"
    path.write_bytes(gzip.compress(ALL_DIFFERENT.encode()))
    assert len(read_wcsp(path).edges) == 6
