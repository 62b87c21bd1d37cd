"""What a model says of one graph, by its parts."""

import numpy as np
import torch

from neuralfactors._core.potentials import Potentials
from neuralfactors.inference import solve
from neuralfactors.segmentation._graph_prediction import as_arrays, conditional_scores


def test_conditional_scores_are_those_of_one_node_at_a_time():
    rng = np.random.default_rng(0)
    edges = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    potentials = Potentials(*map(torch.from_numpy, (rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3)), edges)))
    labels = rng.integers(0, 3, 4)
    found = conditional_scores(potentials, labels)
    for node in range(4):
        scores = []
        for label in range(3):
            y = torch.from_numpy(np.where(np.arange(4) == node, label, labels))
            scores.append(float(potentials.score(y)))
        np.testing.assert_allclose(found[node] - found[node, 0], np.array(scores) - scores[0], atol=1e-5)


def test_parts_are_maxima_of_their_factors(small_model, held_graphs):
    for graph in held_graphs.X:
        unary, interaction, edges = as_arrays(small_model.potentials(graph))
        found = small_model.explain_potentials(small_model.potentials(graph))
        np.testing.assert_array_equal(found.unary, solve(unary, np.zeros_like(interaction), edges).labels)
        np.testing.assert_array_equal(found.interaction, solve(np.zeros_like(unary), interaction, edges).labels)
        np.testing.assert_array_equal(found.joint, small_model.stages_[-1].predict([graph])[0])
