"""StructuredPerceptron: no margin, no regulariser."""

import numpy as np
import pytest

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    StructuredPerceptron,
)


def test_a_perceptron_has_no_margin_to_weigh():
    assert "class_weight" not in StructuredPerceptron().get_params()
    X, Y = make_chains(6, 5, 3, noise=0.5)
    weighed = [Graph(x.node_features, x.edges, node_weight=[9.0, 1.0, 1.0, 1.0, 0.0]) for x in X]
    plain, other = (StructuredPerceptron(max_iter=3).fit(graphs, Y).potentials(X)[0] for graphs in (X, weighed))
    assert (plain.unary == other.unary).all()


def test_it_stands_still_where_every_prediction_is_right():
    X, Y = make_chains(6, 5, 3, noise=0.0)
    perceptron = StructuredPerceptron(max_iter=30, random_state=0).fit(X, Y)
    assert perceptron.score(X, Y) == 1.0
    losses = [record["perceptron"] for record in perceptron.history_]
    assert losses[-1] == 0.0
    assert perceptron.history_[-1]["differing"] == 0.0
    first = losses.index(0.0)
    assert losses[first:] == [0.0] * (len(losses) - first)


def test_its_first_step_adds_what_is_right_and_takes_what_is_wrong():
    """w ← w + φ(x, y) − φ(x, z), with z from weights of zero: here the first label everywhere."""
    graph, y = Graph([[1.0, 2.0], [3.0, -1.0]], [[0, 1]]), [1, 0]
    options = {"trainer__averaging": None, "unary__bias": False}
    model = StructuredPerceptron(max_iter=1, random_state=0).set_params(**options).fit([graph], [y]).model_
    np.testing.assert_allclose(model.unary.weight.detach(), [[-1.0, -2.0], [1.0, 2.0]], atol=1e-6)
    tables = model.interaction.bias.detach().reshape(2, 2)
    np.testing.assert_allclose(tables, [[-1.0, 0.0], [1.0, 0.0]], atol=1e-6)


def test_it_has_no_C():
    assert not {"C", "interaction_C"} & StructuredPerceptron().get_params().keys()
    with pytest.raises(ValueError, match="C"):
        StructuredPerceptron().set_params(C=1.0)
