"""Problems of variables with their own numbers of values."""

import numpy as np
import pytest
from problems import random_graph

from neuralfactors.inference.factor_graph import make_factor_graph
from neuralfactors.inference.local_problem import split
from neuralfactors.inference.validate import check_problem


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    unary, tables, edges = random_graph(0, n_nodes=8, n_labels=3, n_edges=7)
    graph = make_factor_graph(check_problem(unary, tables, edges), [((5, 6, 7), rng.normal(size=(3, 3, 3)))])
    allowed = rng.random(unary.shape) < 0.6
    allowed[:, 0] = True
    constant, parts = split(graph, allowed)
    labels = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
    assert sum(len(part.nodes) for part in parts) == (allowed.sum(axis=1) > 1).sum()
    assert constant + sum(p.problem.score(p.values(labels)) for p in parts) == pytest.approx(graph.score(labels))
    for part in parts:
        np.testing.assert_array_equal(part.labels(part.values(labels)), labels[part.nodes])
