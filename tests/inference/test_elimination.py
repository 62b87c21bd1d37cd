"""Elimination of variables, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import best_score, random_local

from neuralfactors.inference.elimination import eliminate, elimination_order
from neuralfactors.inference.local_problem import LocalProblem


@given(seed=st.integers(0, 2**32), forbid=st.sampled_from([0.0, 0.3]))
def test_elimination_finds_the_optimum(seed, forbid):
    problem = random_local(seed, n_variables=5, max_size=3, n_tables=5, forbid=forbid)
    values = eliminate(problem, elimination_order(problem, 1e6))
    assert problem.score(values) == pytest.approx(best_score(problem), abs=1e-9)


def test_elimination_keeps_its_tables_small():
    grid = [(i, i + 1) for i in range(99) if i % 10 != 9] + [(i, i + 10) for i in range(90)]
    problem = LocalProblem([2] * 100, [(scope, np.zeros((2, 2))) for scope in grid])
    order = elimination_order(problem, 2**14)
    assert sorted(order) == list(range(100))
    assert elimination_order(problem, 2**8) is None  # a grid of 10 x 10 needs tables of 2 ** 11
