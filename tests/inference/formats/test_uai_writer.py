"""What is written as a UAI file is read again as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_files import assert_same, problem_score, random_factors
from problems import problems

from neuralfactors.inference import MapProblem, read_uai, write_uai


@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_problem_survives_the_round_trip(tmp_path_factory, seed, suffix):
    rng = np.random.default_rng(seed)
    truth = random_factors(rng, lambda shape: np.where(rng.random(shape) < 0.1, 0.0, rng.random(shape)), max_order=4)
    folder = tmp_path_factory.mktemp("round")
    (folder / "first.uai").write_text(truth.uai())
    problem = read_uai(folder / "first.uai")
    assert write_uai(folder / f"second.uai{suffix}", *problem) == 0
    assert_same(problem, read_uai(folder / f"second.uai{suffix}"), rtol=1e-13, atol=1e-13)


def spreads(problem):
    """How far the finite scores of each row and table are apart."""
    tables = [table[np.isfinite(table)] for table in (*problem.unary, *problem.interaction)]
    return [np.ptp(table) for table in tables if table.size]


@given(
    problem=problems(max_nodes=4, max_labels=3, forbid=True).filter(
        lambda p: len(p.unary) and max(spreads(p), default=0) < 700
    )
)
def test_scores_are_kept_but_for_the_constant_that_is_returned(tmp_path_factory, problem):
    """Parallel edges and self-loops come back as one edge and in the rows of their nodes."""
    path = tmp_path_factory.mktemp("scores") / "problem.uai"
    constant = write_uai(path, *problem.arrays)
    again = read_uai(path)
    for y in np.ndindex((problem.unary.shape[1],) * len(problem.unary)):
        score = problem.score(y)
        assert problem_score(again, y) + constant == pytest.approx(score, abs=1e-9 * (1 + problem.magnitude))


def test_large_scores_are_shifted_and_the_shift_is_told(tmp_path):
    problem = MapProblem(np.array([[5000.0, 4400.0, -np.inf]]), np.zeros((0, 3, 3)), np.zeros((0, 2), np.int64), [])
    assert write_uai(tmp_path / "a.uai", *problem) == 5000.0
    np.testing.assert_allclose(read_uai(tmp_path / "a.uai").unary, [[0.0, -600.0, -np.inf]])
    lowered = problem._replace(unary=np.array([[-2000.0, -2100.0, -np.inf]]))
    assert write_uai(tmp_path / "a.uai", *lowered) == -2000.0


def test_what_a_file_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "a.uai"
    with pytest.raises(
        ValueError, match="the table of the nodes 1, 0: its scores run from -1000 to 0, more than 708 apart"
    ):
        write_uai(path, np.zeros((2, 2)), np.array([[[0.0, -1000.0], [0.0, 0.0]]]), [[1, 0]])
    with pytest.raises(ValueError, match="a UAI file needs at least one node"):
        write_uai(path, np.zeros((0, 2)), np.zeros((0, 2, 2)), [])
    with pytest.raises(ValueError, match="interaction must have the shape"):
        write_uai(path, np.zeros((2, 2)), np.zeros((1, 3, 3)), [[0, 1]])
    assert list(tmp_path.iterdir()) == []


def test_the_same_problem_makes_the_same_bytes(tmp_path):
    for name in ("a.uai.gz", "b.uai.gz"):
        write_uai(tmp_path / name, np.zeros((2, 2)), np.ones((1, 2, 2)), [[0, 1]])
    assert (tmp_path / "a.uai.gz").read_bytes() == (tmp_path / "b.uai.gz").read_bytes()
