"""General solvers for local problems, each run in a process of its own.

In a process of their own they can be stopped at any moment, by Ctrl-C or by a deadline, and leave no state behind.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._integer_program import solve_by_highs
from neuralfactors.inference._local_problem import Answer, LocalProblem
from neuralfactors.inference._toulbar2 import solve_by_toulbar2

SOLVERS = {"toulbar2": solve_by_toulbar2, "highs": solve_by_highs}  # the faster one first
_PACKAGES = {"toulbar2": "pytoulbar2", "highs": "highspy"}
_GRACE = 5.0  # seconds beyond the limit, for the start of the process and for a busy machine


def find_solver(name: str | None) -> str:
    """The name of the solver asked for, or of the first that is installed."""
    names = [name] if name else list(SOLVERS)
    for candidate in names:
        if importlib.util.find_spec(_PACKAGES[candidate]) is not None:
            return candidate
    packages = " or ".join(_PACKAGES[candidate] for candidate in names)
    raise ImportError(f"method 'exact' needs {packages} for this problem: pip install 'neuralfactors[exact]'")


def run_solver(name: str, problem: LocalProblem, start: NDArray[np.int64] | None, seconds: float) -> Answer:
    """What a solver finds within `seconds`, given the allowed labelling `start`, if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / "problem.npz"), str(Path(folder) / "answer.npz")]
        np.savez(files[0], *problem.packed(), start=[] if start is None else start, seconds=seconds)
        command = [sys.executable, "-c", f"from {__name__} import main; main()", name, *files]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        patience = None if np.isinf(seconds) else seconds + _GRACE
        try:
            process = subprocess.run(command, env=environment, capture_output=True, timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            return Answer(None, np.inf)
        if process.returncode != 0:
            last_line = process.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"{name} failed: {last_line}")
        with np.load(files[1]) as answer:
            return Answer(answer["values"] if answer["found"] else None, float(answer["bound"]))


def main() -> None:
    """The process that `run_solver` starts: solver, problem file and answer file are its arguments."""
    name, problem_file, answer_file = sys.argv[1:]
    with np.load(problem_file) as data:
        start = data["start"].astype(np.int64) if data["start"].size else None
        problem = LocalProblem.unpack(*(data[f"arr_{k}"] for k in range(4)))  # as savez calls them
        answer = SOLVERS[name](problem, start, float(data["seconds"]))
    values = np.zeros(0, np.int64) if answer.values is None else answer.values
    np.savez(answer_file, found=answer.values is not None, values=values, bound=answer.bound)
