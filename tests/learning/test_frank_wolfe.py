"""Frank-Wolfe: every step raises the dual, and the certified gap bounds what is left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_problems import linear_problem, objective

from neuralfactors.inference import _kernels
from neuralfactors.learning._cutting_plane import n_slack
from neuralfactors.learning._frank_wolfe import block_frank_wolfe

C = 4.0


def run(problem, tol=1e-3, max_iter=500, seed=0, check_every=5, corrective=True, callbacks=()):
    return block_frank_wolfe(problem, C, tol, max_iter, seed, check_every, corrective, callbacks)


@given(seed=st.integers(0, 2**16), corrective=st.booleans())
def test_no_step_lowers_the_dual(seed, corrective):
    problem = linear_problem(seed, weights=True)
    sets = _kernels.WorkingSets(problem.kernel, C, with_gram=corrective)
    for n in np.random.default_rng(seed).integers(len(problem), size=10).tolist():
        before = sets.dual()
        sets.frank_wolfe_pass(np.array([n]), corrective)
        assert sets.dual() >= before - 1e-9
    assert sets.dual() <= objective(problem, C) + 1e-9


@pytest.mark.parametrize("corrective", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_it_meets_the_cutting_planes(corrective, seed):
    best = n_slack(linear_problem(seed), C, 1e-4, 1000).best
    found = run(linear_problem(seed), tol=1e-2, corrective=corrective)
    assert found.converged
    assert 0.999 * best <= found.best <= 1.011 * best


def test_passes_that_certify():
    found = run(linear_problem(0), tol=0.0, max_iter=12, check_every=5)
    assert [record["epoch"] for record in found.history] == [5, 10, 12]
    assert found.history[-1]["constraints"] > 0


def test_the_order_goes_by_the_seed():
    one, same, other = (run(linear_problem(3, n_graphs=8), tol=0.0, max_iter=3, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.w, same.w)
    assert not np.array_equal(one.w, other.w)


def test_a_callback_ends_it():
    found = run(linear_problem(0), tol=0.0, callbacks=[lambda record: record["epoch"] >= 10])
    assert found.told_to_stop
    assert found.history[-1]["epoch"] == 10
