"""Edges of chains and grids, and their directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors import chain_edges, grid_directions, grid_edges

SIDE = st.integers(1, 6)


def expected_edges(height, width, neighbours):
    """Pairs of pixels one step apart; with four neighbours, only those in one row or column."""
    places = [(a, b) for a in range(height) for b in range(width)]
    found = set()
    for i, (a, b) in enumerate(places):
        for j, (c, d) in enumerate(places[i + 1 :], i + 1):
            steps = abs(a - c), abs(b - d)
            if max(steps) == 1 and (neighbours == 8 or min(steps) == 0):
                found.add((i, j))
    return found


@given(SIDE, SIDE, st.sampled_from([4, 8]))
def test_grid_edges_join_each_pair_of_neighbours_once(height, width, neighbours):
    edges = grid_edges(height, width, neighbours)
    assert len(edges) == len({*map(tuple, edges.tolist())})
    assert {*map(tuple, edges.tolist())} == expected_edges(height, width, neighbours)


@given(SIDE, SIDE, st.sampled_from([4, 8]))
def test_directions_tell_the_step_of_an_edge(height, width, neighbours):
    directions = grid_directions(height, width, neighbours)
    assert directions.shape[1] == neighbours // 2
    steps = np.diff(np.array(np.divmod(grid_edges(height, width, neighbours), width)), axis=2)[..., 0].T
    for k, step in enumerate([(0, 1), (1, 0), (1, 1), (1, -1)][: neighbours // 2]):
        assert (directions[:, k] == (steps == step).all(axis=1)).all()


def test_a_chain_of_one_has_no_edge():
    assert chain_edges(1).shape == (0, 2)


def test_a_wrong_number_of_neighbours_says_what_was_expected():
    with pytest.raises(ValueError, match=r"neighbours must be one of \[4, 8\], got 6"):
        grid_edges(2, 2, 6)
