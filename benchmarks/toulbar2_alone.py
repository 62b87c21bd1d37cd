"""toulbar2 on a whole problem, with the options that `exact` gives it: python benchmarks/toulbar2_alone.py FILE SECONDS

Prints one line of JSON: labels, score, bound, whether it is proved, and the seconds that building the network and the
search took. Nothing is pruned before it and it gets no labelling to start from.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from neuralfactors.inference import read_uai
from neuralfactors.inference._kernel import judge
from neuralfactors.inference._local_problem import LocalProblem, split
from neuralfactors.inference._toulbar2 import solve_by_toulbar2
from neuralfactors.inference._validate import check_problem

BITS = 51  # of the whole numbers that `solve_by_toulbar2` makes of scores


def rounding(problem: LocalProblem) -> float:
    """What a finished search leaves open between score and bound, since its costs are whole numbers."""
    ranges = [float(np.ptp(table[np.isfinite(table)])) for _, table in problem.tables]
    return len(ranges) * sum(ranges) / 2.0**BITS


def run(path: str, seconds: float) -> dict[str, object]:
    """The answer of toulbar2, component by component."""
    import pytoulbar2  # noqa: F401  its import is not part of the search

    *arrays, factors = read_uai(path)
    problem = check_problem(*arrays, factors=factors)
    allowed = [np.isfinite(row) for row in problem.rows()]
    start = time.perf_counter()
    bound, parts = split(problem.tables(), allowed)
    labels, found, proved = np.array([row.argmax() for row in allowed]), True, True
    for part in parts:
        answer = solve_by_toulbar2(part.problem, None, max(1.0, seconds - (time.perf_counter() - start)))
        bound += answer.bound
        if answer.values is None:
            found = proved = False
        else:
            labels[part.nodes] = part.labels(answer.values)
            proved &= answer.bound - part.problem.score(answer.values) <= 1.01 * rounding(part.problem)
    taken = time.perf_counter() - start
    score = judge(problem, labels)[0] if found else -np.inf
    return {
        "labels": labels.tolist() if found else None,
        "score": score,
        "bound": bound,
        "proved": proved,
        "seconds": taken,
    }


if __name__ == "__main__":
    print("\n" + json.dumps(run(sys.argv[1], float(sys.argv[2]))))
