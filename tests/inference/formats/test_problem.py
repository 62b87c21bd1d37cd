"""Problems of files as arrays: nothing is lost by merging, and what would not fit is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_files import problem_score, random_factors

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference import solve
from neuralfactors.inference._formats.problem import MAX_ORDER, assemble, check_size
from neuralfactors.inference._formats.scopes import Scopes


def assembled(factor_list):
    """The arrays of a problem whose tables are scores."""
    sizes = np.array(factor_list.sizes)
    groups = []
    for order in sorted({len(scope) for scope, _ in factor_list.factors}):
        members = [k for k, (scope, _) in enumerate(factor_list.factors) if len(scope) == order]
        tables = [factor_list.factors[k][1] for k in members]
        nodes = np.array([factor_list.factors[k][0] for k in members], np.int64).reshape(len(members), order)
        groups.append((Scopes(np.array(members), nodes), tables))
    return assemble(sizes, groups)


@given(seed=st.integers(0, 2**16))
def test_every_labelling_keeps_its_score(seed):
    rng = np.random.default_rng(seed)
    drawn = random_factors(rng, lambda shape: rng.normal(size=shape))
    problem = assembled(drawn)
    assert len({frozenset(edge) for edge in problem.edges.tolist()}) == len(problem.edges)
    assert [len(row) for row in problem.unary] == drawn.sizes
    for y in drawn.labellings():
        assert problem_score(problem, y) == pytest.approx(sum(drawn.entries(y)))
    best = max(sum(drawn.entries(y)) for y in drawn.labellings())
    assert solve(*problem, method="exhaustive").score == pytest.approx(best)


@given(seed=st.integers(0, 2**16))
def test_further_factors_keep_their_order(seed):
    rng = np.random.default_rng(seed)
    drawn = random_factors(rng, lambda shape: rng.normal(size=shape), max_order=4)
    expected = [list(scope) for scope, _ in drawn.factors if len(scope) > 2]
    assert [nodes.tolist() for nodes, _ in assembled(drawn).factors] == expected


def test_a_pair_in_both_directions_is_one_edge_as_it_came_first():
    nodes, tables = np.array([[1, 0], [0, 1]]), np.array([[[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0]]])
    problem = assemble(np.array([2, 2]), [(Scopes(np.arange(2), nodes), tables)])
    assert problem.edges.tolist() == [[1, 0]]
    assert problem.interaction.tolist() == [[[11.0, 32.0], [23.0, 44.0]]]


@pytest.mark.parametrize(
    ("sizes", "order", "words"),
    [
        ([70_000, 70_000, 2], 2, "GiB"),
        ([2] * 40, MAX_ORDER, "GiB"),
        ([1] * 40, MAX_ORDER + 1, f"{MAX_ORDER}"),
        ([2**53] * 2**11, 0, "GiB"),  # whose sum is 0 in 64 bits
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_made(tmp_path, sizes, order, words):
    scopes = [Scopes(np.zeros(1, np.int64), np.arange(order)[None])]
    with pytest.raises(FileFormatError, match=rf"\A{tmp_path} [^\n]*{words}[^\n]*\Z"):
        check_size(tmp_path, np.array(sizes), scopes)


def test_what_fits_is_not_refused(tmp_path):
    check_size(tmp_path, np.array([2] * 20), [Scopes(np.zeros(1, np.int64), np.arange(20)[None])])
    check_size(tmp_path, np.array([1]), [])
