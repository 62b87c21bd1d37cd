"""toulbar2: what it proves."""

import subprocess
import sys

import pytest


def test_toulbar2_proves_nothing_when_it_is_cut_short():
    """On a busy machine its timer fires before the limit has been spent in processor time: here, as if none had."""
    pytest.importorskip("pytoulbar2", reason="the extra exact is not installed")
    script = """
import time
import numpy as np
from neuralfactors.inference._local_problem import LocalProblem
from neuralfactors.inference._toulbar2 import solve_by_toulbar2
time.process_time = lambda: 0.0
rng = np.random.default_rng(0)
problem = LocalProblem([8] * 150, [(tuple(rng.permutation(150)[:2]), rng.normal(size=(8, 8))) for _ in range(900)])
answer = solve_by_toulbar2(problem, None, 1.0)
print(answer.bound - problem.score(answer.values))
"""
    # In a process of its own: the timer stays set in the process that has used it.
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert float(run.stdout.split()[-1]) > 1
