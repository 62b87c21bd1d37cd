"""Problems of variables with their own numbers of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import best_score, random_graph, random_local

from neuralfactors.inference import _kernels
from neuralfactors.inference._kernel import judge
from neuralfactors.inference._local_problem import LocalProblem, eliminate, split
from neuralfactors.inference._validate import check_problem


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    unary, tables, edges = random_graph(0, n_nodes=8, n_labels=3, n_edges=7)
    problem = check_problem(unary, tables, edges, factors=[((5, 6, 7), rng.normal(size=(3, 3, 3)))])
    allowed = rng.random(unary.shape) < 0.6
    allowed[:, 0] = True
    constant, parts = split(problem.tables(), allowed)
    labels = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
    assert sum(len(part.nodes) for part in parts) == (allowed.sum(axis=1) > 1).sum()
    assert constant + sum(p.problem.score(p.values(labels)) for p in parts) == pytest.approx(judge(problem, labels)[0])
    for part in parts:
        np.testing.assert_array_equal(part.labels(part.values(labels)), labels[part.nodes])


@given(seed=st.integers(0, 2**32), forbid=st.sampled_from([0.0, 0.3]))
def test_elimination_finds_the_optimum(seed, forbid):
    problem = random_local(seed, n_variables=5, max_size=3, n_tables=5, forbid=forbid)
    assert problem.score(eliminate(problem, 1e6)) == pytest.approx(best_score(problem), abs=1e-9)


def test_elimination_keeps_its_tables_small():
    grid = [(i, i + 1) for i in range(99) if i % 10 != 9] + [(i, i + 10) for i in range(90)]
    problem = LocalProblem([2] * 100, [(scope, np.eye(2)) for scope in grid])
    assert len(set(eliminate(problem, 2**14))) == 1
    assert eliminate(problem, 2**8) is None  # a grid of 10 x 10 needs tables of 2 ** 11


def test_elimination_knows_many_values():
    rng = np.random.default_rng(0)
    problem = LocalProblem([700, 2], [((1, 0), rng.normal(size=(2, 700)))])
    best, other = eliminate(problem, 2**20)
    assert problem.tables[0][1][other, best] == problem.tables[0][1].max()


def test_packed_problems_are_unpacked():
    problem = random_local(0, n_variables=5, max_size=3, n_tables=5)
    again = LocalProblem.unpack(*problem.packed())
    assert again.sizes == problem.sizes
    for (scope, table), (same_scope, same_table) in zip(problem.tables, again.tables, strict=True):
        assert scope == same_scope
        np.testing.assert_array_equal(table, same_table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.zeros(3, np.int64)}, "values needs one entry per variable"),
        ({"sizes": np.array([2, 0])}, "every variable needs at least one value"),
        ({"nodes": np.array([0, 2])}, "the nodes of a factor are out of range"),
        ({"tables": np.zeros(5)}, "the tables are too short"),
    ],
)
def test_the_kernel_checks_what_it_is_given(change, message):
    good = {
        "sizes": np.array([2, 3]), "ptr": np.array([0, 2]), "nodes": np.array([0, 1]), "tables": np.zeros(6),
        "max_entries": 100, "values": np.zeros(2, np.int64),
    }  # fmt: skip
    assert _kernels.eliminate(**good)
    with pytest.raises(ValueError, match=message):
        _kernels.eliminate(**(good | change))
