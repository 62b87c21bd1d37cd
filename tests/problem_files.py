"""Random problems with nodes of different sizes and factors of any order, as the text of UAI and WCSP files."""

import itertools
import json
import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from neuralfactors.inference import read_uai, read_wcsp

SMALL_UAI = "MARKOV\n3\n2 3 2\n2\n1 0\n2 1 2\n\n2\n 0.3 0.7\n6\n 1 2\n 3 4\n 5 0\n"
UAI = "MARKOV\n3\n2 3 2\n3\n1 0\n2 1 2\n3 0 1 2\n\n2\n 0.3 0.7\n6\n 1 2\n 3 4\n 5 0\n12\n" + " 0.5" * 12 + "\n"
READERS = {"uai": read_uai, "wcsp": read_wcsp}


@dataclass(frozen=True)
class FactorList:
    """A problem as files hold it; tables are entries of a product, or costs."""

    sizes: list[int]
    factors: list[tuple[tuple[int, ...], np.ndarray]]

    def labellings(self):
        return itertools.product(*map(range, self.sizes))

    def entries(self, y):
        return [float(table[tuple(y[i] for i in scope)]) for scope, table in self.factors]

    def log_product(self, y):
        entries = self.entries(y)
        return -math.inf if 0 in entries else math.fsum(map(math.log, entries))

    def score(self, y, top):
        costs = self.entries(y)
        return -math.inf if max(costs, default=0) >= top else -math.fsum(costs)

    def uai(self, kind="MARKOV"):
        scopes = [" ".join(map(str, (len(scope), *scope))) for scope, _ in self.factors]
        tables = [f"{table.size}\n{' '.join(map(repr, table.ravel().tolist()))}\n" for _, table in self.factors]
        head = [kind, len(self.sizes), " ".join(map(str, self.sizes)), len(self.factors)]
        return "\n".join(map(str, [*head, *scopes, "", *tables]))

    def wcsp(self, top, name="random"):
        """Costs that occur most often are the defaults, so that lists of tuples are of any length."""
        lines = [
            f"{name} {len(self.sizes)} {max(self.sizes)} {len(self.factors)} {top}",
            " ".join(map(str, self.sizes)),
        ]
        for scope, table in self.factors:
            costs, counts = np.unique(table, return_counts=True)
            default = int(costs[counts.argmax()])
            tuples = [(*map(int, y), int(table[y])) for y in np.ndindex(table.shape) if table[y] != default]
            tuples = tuples if scope else []  # the default of a constant is its cost
            lines.append(" ".join(map(str, (len(scope), *scope, default, len(tuples)))))
            lines += [" ".join(map(str, row)) for row in tuples]
        return "\n".join(lines) + "\n"


def random_factors(rng, draw, max_order=3):
    """Up to 5 nodes with 1 to 4 labels, factors of all orders, in any orientation and more than once over a pair."""
    sizes = rng.integers(1, 5, rng.integers(1, 6)).tolist()
    factors = []
    for _ in range(rng.integers(0, 9)):
        scope = tuple(rng.permutation(len(sizes))[: rng.integers(0, max_order + 1)].tolist())
        factors.append((scope, draw([sizes[i] for i in scope])))
    return FactorList(sizes, factors)


def problem_score(problem, y):
    """The score of a labelling by the arrays that were read, term by term."""
    total = sum(problem.unary[i][label] for i, label in enumerate(y))
    total += sum(table[y[i], y[j]] for (i, j), table in zip(problem.edges, problem.interaction, strict=True))
    return total + sum(table[tuple(y[i] for i in nodes)] for nodes, table in problem.factors)


def assert_same(problem, again, **tolerance):
    """Rows, tables, edges and factors of two problems agree; without a tolerance, exactly."""
    for name in ("unary", "interaction"):
        for one, other in zip(getattr(problem, name), getattr(again, name), strict=True):
            np.testing.assert_allclose(other, one, **({"rtol": 0} | tolerance))
    np.testing.assert_array_equal(again.edges, problem.edges)
    for (nodes, table), (nodes_again, table_again) in zip(problem.factors, again.factors, strict=True):
        np.testing.assert_array_equal(nodes, nodes_again)
        np.testing.assert_allclose(table_again, table, **({"rtol": 0} | tolerance))


# toulbar2 keeps state in its process, such as the format of the last file: a fork for each file.
TOULBAR2 = """
import json, os, sys
import pytoulbar2
for path in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        network = pytoulbar2.CFN()
        network.Read(path)
        labels, cost, _ = network.Solve()
        print("answer", json.dumps([list(map(int, labels)), float(cost)]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def solve_by_toulbar2(paths):
    """For each file the labels that toulbar2 finds, and their cost."""
    command = [sys.executable, "-c", TOULBAR2, *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    lines = [line.removeprefix("answer ") for line in result.stdout.splitlines() if line.startswith("answer ")]
    assert len(lines) == len(paths), result.stdout + result.stderr
    return [json.loads(line) for line in lines]


def refusal(kind, path):
    """The one sentence with which a file is refused, with {} in place of its name."""
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        READERS[kind](path)
    return str(caught.value).replace(str(path), "{}")
