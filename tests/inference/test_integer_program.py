"""The integer program of a MAP problem and its relaxation."""

import numpy as np
import pytest
from problems import random_graph
from scipy.optimize import linprog

from neuralfactors.inference import solve
from neuralfactors.inference._integer_program import make_program
from neuralfactors.inference._local_problem import split
from neuralfactors.inference._validate import check_problem


@pytest.mark.parametrize("seed", range(5))
def test_dual_bound_is_that_of_the_relaxation(seed):
    arrays = random_graph(seed, n_nodes=10, n_labels=3, n_edges=14)
    _, parts = split(check_problem(*arrays).tables(), np.ones(arrays[0].shape, bool))
    relaxed = 0.0
    for part in parts:
        program = make_program(part.problem)
        found = linprog(-program.gains, A_eq=program.matrix, b_eq=program.right, bounds=(0, 1))
        relaxed += program.offset - found.fun
    bound = solve(*arrays, [([0], np.zeros(3))], method="trws", tol=0, max_iter=2000).bound
    assert relaxed - 1e-9 <= bound <= relaxed + 1  # of some 50: message passing may stop a little short of it
