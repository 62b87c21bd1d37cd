"""Wrong arguments of the calls that sum over labellings are named; right ones are taken in all their forms."""

import numpy as np
import pytest

from neuralfactors.inference import marginals
from neuralfactors.inference._sum_problem import check_sums


def test_contiguous_scores_of_one_type_are_not_copied():
    unary, tables = np.zeros((3, 2), np.float32), np.zeros((2, 2, 2), np.float32)
    problem = check_sums(unary, tables, [[0, 1], [1, 2]])
    assert problem.unary is unary
    assert np.shares_memory(problem.tables, tables)
    assert (problem.table_shape, problem.n_graphs, problem.type_name) == ((2, 2), 1, "float32")
    assert check_sums(unary, tables.astype(int), [[0, 1], [1, 2]]).type_name == "float64"


BAD = [
    ({"unary": np.array([[0.0, np.nan]])}, r"unary\[0, 1\] is NaN"),
    ({"interaction": np.full((1, 2, 2), np.inf)}, r"interaction\[0, 0, 0\] is \+inf"),
    ({"unary": np.array([[-np.inf, 1e300]])}, r"unary\[0, 1\] is beyond 1e200, the largest size of a score"),
    ({"interaction": np.array([[[0, -1e300], [0, 0]]])}, r"interaction\[0, 0, 1\] is beyond 1e200"),
    ({"interaction": np.zeros((2, 2, 2))}, r"interaction must have the shape \(1, 2, 2\)"),
    ({"edges": np.array([[0, 5]])}, r"edges\[0\] has node 5"),
    ({"edges": np.array([[0.0, 1.0]])}, "edges must be integers"),
    ({"unary": np.zeros(2)}, "unary must have the shape"),
    ({"method": "best"}, "method must be one of auto, exact, trw, bethe"),
    ({"max_entries": 0}, "max_entries must be a number of at least 1"),
    ({"tol": -1}, "tol must be"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_wrong_arguments_are_named(change, message):
    arguments = {"unary": np.zeros((2, 2)), "interaction": np.zeros((1, 2, 2)), "edges": np.array([[0, 1]])} | change
    with pytest.raises(ValueError, match=message):
        marginals(**arguments)
