"""Local problems solved by toulbar2, a branch-and-bound solver for cost function networks."""

import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference.local_problem import Answer, LocalProblem

_BITS = 50  # of the integer costs, so that sums of them are exact in double precision
_GRACE = 5.0  # seconds of wall-clock time, beyond the limit, for the start and for a busy machine


def solve_by_toulbar2(problem: LocalProblem, start: NDArray[np.int64] | None, seconds: float) -> Answer:
    """What toulbar2 finds within `seconds`, looking for labellings better than the allowed one `start`, if given."""
    tops = [float(table.max()) for _, table in problem.tables]
    if min(tops) == -np.inf:
        return Answer(None, -np.inf)
    unit = _unit(problem)
    # Scores become costs below the maximum of their table, rounded to whole units; what is forbidden costs too much.
    with np.errstate(invalid="ignore"):
        costs = [np.rint((top - table) / unit) for top, (_, table) in zip(tops, problem.tables, strict=True)]
    rounded = LocalProblem(
        problem.sizes, [(scope, cost) for cost, (scope, _) in zip(costs, problem.tables, strict=True)]
    )
    upper = 2.0**_BITS + len(costs) + 1 if start is None else rounded.score(start)
    rounding = len(costs) * unit
    if upper == 0:
        return Answer(None, sum(tops) + rounding)
    found = _search(rounded, upper, seconds)
    if found is None:
        return Answer(None, np.inf)
    values, complete, lower = found
    if not complete:
        return Answer(values, sum(tops) - lower * unit + rounding)
    best = start if values is None else values
    return Answer(values, -np.inf if best is None else problem.score(best) + rounding)


def _unit(problem: LocalProblem) -> float:
    spread = 0.0
    for _, table in problem.tables:
        allowed = table[np.isfinite(table)]
        spread += float(allowed.max() - allowed.min())
    return spread / 2.0**_BITS if spread > 0 else 1.0


def _search(costs: LocalProblem, upper: float, seconds: float) -> tuple[NDArray[np.int64] | None, bool, float] | None:
    """Values or None, whether the search was complete, and a lower bound; None if it had to be stopped from outside."""
    arrays: dict[str, Any] = {"sizes": costs.sizes, "n_tables": len(costs.tables), "upper": upper}
    for k, (scope, table) in enumerate(costs.tables):
        arrays |= {f"scope_{k}": scope, f"costs_{k}": np.minimum(table, upper)}
    limit = 0 if math.isinf(seconds) else max(1, math.ceil(seconds))
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / "problem.npz"), str(Path(folder) / "result.npz")]
        np.savez(files[0], seconds=limit, **arrays)
        patience = limit + _GRACE if limit else None
        worker = [sys.executable, "-P", str(Path(__file__).with_name("toulbar2_worker.py")), *files]
        try:
            process = subprocess.run(worker, capture_output=True, timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            return None
        if process.returncode != 0:
            raise RuntimeError(f"toulbar2 failed: {process.stderr.decode(errors='replace').strip()[-500:]}")
        with np.load(files[1]) as result:
            values = result["values"] if result["found"] else None
            return values, bool(result["complete"]), float(result["lower"])
