"""Views of sequences."""

import pytest

from neuralfactors._common.sequences import Selection


class Made:
    """A sequence that notes which of its items were asked for."""

    def __init__(self):
        self.asked = []

    def __getitem__(self, n):
        self.asked.append(n)
        return n * n


def test_a_selection_makes_the_items_that_are_asked_for_and_no_others():
    made = Made()
    chosen = Selection(made, [7, 2, 5])
    assert (len(chosen), made.asked) == (3, [])
    assert (chosen[1], chosen[-1], chosen[:2]) == (4, 25, [49, 4])
    assert made.asked == [2, 5, 7, 2]
    assert list(chosen) == [49, 4, 25]
    with pytest.raises(IndexError):
        chosen[3]
