"""The start of hidden states: of the right label, different where surroundings differ, and seeded."""

import numpy as np

from neuralfactors import grid_graph
from neuralfactors.datasets import make_crosses
from neuralfactors.estimators._start_states import start_states
from neuralfactors.learning._training_graphs import Samples


def test_states_have_their_label_and_tell_surroundings_apart():
    X, Y = make_crosses(6, size=8, n_crosses=1, noise=0)
    samples = Samples.check([grid_graph(x) for x in X], Y.reshape(6, -1), drop_void=False)
    state_label = np.array([0, 1, 1])
    found = start_states(samples, state_label, 0)
    for states, y in zip(found, samples.Y, strict=True):
        assert (state_label[states] == y).all()
        assert sorted(np.bincount(states, minlength=3)[1:].tolist()) == [1, 4]
    again = start_states(samples, state_label, 0)
    assert all((a == b).all() for a, b in zip(found, again, strict=True))


def test_hidden_nodes_get_any_state_and_few_points_no_more_than_there_are(chains):
    X, Y = chains
    hidden = [np.where(np.arange(len(y)) == 2, -1, y) for y in Y]
    samples = Samples.check(X[:1], hidden[:1], 3, drop_void=False)
    (states,) = start_states(samples, np.repeat(np.arange(3), 5), 0)
    assert 0 <= states.min() <= states.max() < 15
