"""States of labels: their numbers as users give them, and labels and probabilities of nodes in them."""

import numpy as np
import pytest

from neuralfactors._core.node_types import NodeTypes
from neuralfactors.estimators._states import States

TYPES = NodeTypes((2, 1), ())


@pytest.mark.parametrize(
    ("n_states", "types", "expected"),
    [
        (2, None, [0, 0, 1, 1]),
        (np.array([1, 3]), None, [0, 1, 1, 1]),
        (2, TYPES, [[0, 0, 1, 1], [0, 0]]),
        ([[2, 1], 3], TYPES, [[0, 0, 1], [0, 0, 0]]),
        (np.array([1, 2]), TYPES, [[0, 1], [0, 0]]),
    ],
)
def test_every_label_has_as_many_states_as_asked_for(n_states, types, expected):
    states = States.of(n_states, 2, types)
    assert states.plain == expected
    assert States.stored(expected).plain == expected
    assert States.stored(expected).typed == states.typed == (types is not None)
    assert states.hidden
    assert not States.of(1, 2, types).hidden


def test_labels_and_probabilities_are_those_of_the_type():
    states, kinds = States.of([[2, 1], 2], 2, TYPES), np.array([0, 1, 0])
    assert states.rows(kinds, 3).tolist() == [[0, 0, 1], [0, 0, -2], [0, 0, 1]]
    assert states.labels(np.array([2, 1, 1]), kinds).tolist() == [1, 0, 0]
    probability = np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    assert states.add_up(probability, kinds).tolist() == [[0.75, 0.25], [1.0, 0.0], [0.25, 0.75]]
    plain = States.of([2, 1], 2, None)
    assert plain.labels(np.array([1, 2]), None).tolist() == [0, 1]
    assert plain.add_up(probability, None).tolist() == [[0.75, 0.25], [1.0, 0.0], [0.25, 0.75]]
