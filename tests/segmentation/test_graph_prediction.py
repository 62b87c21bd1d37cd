"""What a model says of one graph, by its parts."""

import numpy as np

from neuralfactors.inference import solve
from neuralfactors.segmentation._graph_prediction import as_arrays


def test_parts_are_maxima_of_their_factors(small_model, held_graphs):
    for graph in held_graphs.X:
        unary, interaction, edges = as_arrays(small_model.potentials(graph))
        found = small_model.explain_graph(graph)
        np.testing.assert_array_equal(found.unary, solve(unary, np.zeros_like(interaction), edges).labels)
        np.testing.assert_array_equal(found.interaction, solve(np.zeros_like(unary), interaction, edges).labels)
        np.testing.assert_array_equal(found.joint, small_model.stages_[-1].predict([graph])[0])
