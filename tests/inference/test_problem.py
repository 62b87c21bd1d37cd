"""Problems as the kernels take them: where rows and tables begin, and parts of a batch."""

import numpy as np
import pytest

from neuralfactors.inference._problem import Places
from neuralfactors.inference._validate import check_problem

ROWS = [[0.0, 1.0], [2.0], [3.0, 4.0, 5.0], [6.0]]
TABLES = [np.arange(2.0)[:, None], 10 + np.arange(3.0)[:, None]]


def ragged():
    return check_problem(ROWS, TABLES, [[0, 1], [2, 3]], [0, 2, 4], [0, 1, 2], [((3, 2), np.zeros((1, 3)))])


def test_places_follow_each_other():
    places = Places.of(np.array([2, 1, 3]), np.array([[0, 1], [2, 0]]))
    assert places.rows.tolist() == [0, 2, 3, 6]
    assert places.tables.tolist() == [0, 2, 8]


def test_sizes_rows_and_tables():
    problem = ragged()
    assert (problem.n_nodes, problem.n_labels, problem.sizes.tolist()) == (4, 3, [2, 1, 3, 1])
    assert [row.tolist() for row in problem.rows()] == ROWS
    scopes, tables = zip(*problem.tables(), strict=True)
    assert scopes == ((0,), (1,), (2,), (3,), (0, 1), (2, 3), (3, 2))
    assert tables[5].tolist() == TABLES[1].tolist()
    assert tables[6].shape == (1, 3)


@pytest.mark.parametrize("g", [0, 1])
def test_a_graph_of_a_batch_alone(g):
    one = ragged().graph(g)
    assert [row.tolist() for row in one.rows()] == ROWS[2 * g : 2 * g + 2]
    assert one.interaction.tolist() == TABLES[g].ravel().tolist()
    assert one.edges.tolist() == [[0, 1]]
    assert one.places.tables.tolist() == [0, TABLES[g].size]
    assert one.factors.nodes.tolist() == ([] if g == 0 else [1, 0])


def test_where_all_have_as_many_labels_arrays_stay_as_they_are():
    unary = np.zeros((2, 2))
    problem = check_problem(unary, np.zeros((1, 2, 2)), [[0, 1]])
    assert problem.unary is unary
    assert problem.places is None
    assert check_problem(ROWS[::2][:1] * 2, np.zeros((1, 2, 2)), [[0, 1]]).places is None
