"""StructuredPerceptron: no margin, no regulariser."""

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import (
    StructuredPerceptron,
)
from neuralfactors.graph import Graph


def test_a_perceptron_has_no_margin_to_weigh():
    assert "class_weight" not in StructuredPerceptron().get_params()
    X, Y = make_chains(6, 5, 3, noise=0.5)
    weighed = [Graph(x.node_features, x.edges, node_weight=[9.0, 1.0, 1.0, 1.0, 0.0]) for x in X]
    plain, other = (StructuredPerceptron(max_iter=3).fit(graphs, Y).decision(X)[0] for graphs in (X, weighed))
    assert (plain.unary == other.unary).all()
