"""Local problems solved by toulbar2, a branch-and-bound solver for cost function networks."""

import math

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._local_problem import Answer, LocalProblem

_BITS = 51  # of the integer costs, so that sums of them are exact in double precision


def solve_by_toulbar2(problem: LocalProblem, start: NDArray[np.int64] | None, seconds: float) -> Answer:
    """What toulbar2 finds within `seconds`, looking for labellings better than the allowed one `start`, if given.

    toulbar2 keeps its timer in the process: after a search that was cut short, the next one in the same process ends
    early too. A search with a time limit therefore needs a process of its own.
    """
    tops = [float(table.max()) for _, table in problem.tables]
    if min(tops) == -np.inf:
        return Answer(None, -np.inf)
    unit = _spread(problem, tops, start) / 2.0**_BITS
    if start is not None and unit <= 0:
        return Answer(None, math.fsum(tops))
    unit = max(unit, np.finfo(float).tiny)
    # Scores become costs below the maximum of their table, rounded to whole units; what is forbidden costs too much.
    costs = LocalProblem(
        problem.sizes,
        [(scope, np.rint((top - table) / unit)) for top, (scope, table) in zip(tops, problem.tables, strict=True)],
    )
    rounding = len(tops) * unit
    upper = 2.0**_BITS + len(tops) + 1 if start is None else costs.score(start)
    values, complete, lower = _search(costs, upper, seconds)
    if not complete:
        return Answer(values, math.fsum(tops) - lower * unit + rounding)
    best = start if values is None else values
    return Answer(values, -np.inf if best is None else problem.score(best) + rounding)


def _spread(problem: LocalProblem, tops: list[float], start: NDArray[np.int64] | None) -> float:
    """The largest cost that matters: costs above that of `start` need not be distinguished."""
    if start is not None:
        return math.fsum(tops) - problem.score(start)
    lowest = [float(table[np.isfinite(table)].min()) for _, table in problem.tables]
    return math.fsum(tops) - math.fsum(lowest)


def _search(costs: LocalProblem, upper: float, seconds: float) -> tuple[NDArray[np.int64] | None, bool, float]:
    """Values that cost less than `upper` or None, whether the search was complete, and a lower bound."""
    from pytoulbar2 import CFN

    network = CFN(vac=1)
    network.Option.trwsAccuracy = 1e-5  # a tight dual bound first; chosen by measurement
    for v, size in enumerate(costs.sizes):
        network.AddVariable(f"x{v}", range(size))
    for scope, table in costs.tables:
        network.AddFunction([int(v) for v in scope], np.minimum(table, upper).ravel().tolist())
    network.UbInit = upper
    limit = 0 if math.isinf(seconds) else max(1, math.ceil(seconds))
    network.Option.limited = False
    found = network.Solve(timeLimit=limit)
    # The clock cannot tell: the timer goes by ticks, which on a busy machine run ahead of the processor time spent.
    complete = limit == 0 or not network.Option.limited
    values = None if found is None else np.array(found[0], np.int64)
    return values, complete, float(network.GetDDualBound())
