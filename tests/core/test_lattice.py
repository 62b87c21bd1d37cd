"""Graphs made of arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors import chain_graph, grid_directions, grid_graph, point_graphs


def test_a_chain_of_one_has_no_edge():
    assert chain_graph([[1.0]]).n_edges == 0


def test_grid_graph_numbers_pixels_row_by_row_and_puts_directions_last():
    pixels = np.arange(12.0).reshape(2, 3, 2)
    graph = grid_graph(pixels, directional=True, edge_features=np.arange(7.0)[:, None])
    assert (graph.node_features == pixels.reshape(6, 2)).all()
    assert (graph.edge_features[:, 0] == np.arange(7)).all()
    assert (graph.edge_features[:, 1:] == grid_directions(2, 3)).all()


def test_wrong_arguments_say_what_was_expected():
    with pytest.raises(ValueError, match=r"features must have shape \(H, W, D\), got \(4, 2\)"):
        grid_graph(np.zeros((4, 2)))


@pytest.mark.parametrize("neighbours", [4, 8])
@given(height=st.integers(1, 5), width=st.integers(1, 5))
def test_pixels_are_joined_to_their_neighbours_once(height, width, neighbours):
    graph = grid_graph(np.zeros((height, width, 1)), neighbours)
    found = {frozenset(edge) for edge in graph.edges.tolist()}
    places = [divmod(pixel, width) for pixel in range(height * width)]
    reach = (lambda a, b: abs(a) + abs(b) == 1) if neighbours == 4 else (lambda a, b: max(abs(a), abs(b)) == 1)
    expected = {
        frozenset((m, n)) for m, (i, j) in enumerate(places) for n, (a, b) in enumerate(places) if reach(i - a, j - b)
    }
    assert found == expected
    assert len(graph.edges) == len(expected)


@given(length=st.integers(1, 6), n_features=st.integers(1, 3))
def test_chains_join_each_node_to_the_next(length, n_features):
    rows = np.random.default_rng(0).normal(size=(length, n_features))
    graph = chain_graph(rows, np.arange(length - 1.0)[:, None])
    np.testing.assert_array_equal(graph.node_features, rows)
    assert graph.edges.tolist() == [[i, i + 1] for i in range(length - 1)]
    assert graph.edge_features[:, 0].tolist() == list(range(length - 1))
    if length > 1:
        with pytest.raises(ValueError, match="edge_features needs one row per edge"):
            chain_graph(rows, np.zeros((length, 1)))


def test_points_are_graphs_of_one_node():
    rows = np.arange(6.0).reshape(3, 2)
    graphs = point_graphs(rows)
    assert [(graph.n_nodes, graph.n_edges) for graph in graphs] == [(1, 0)] * 3
    np.testing.assert_array_equal(np.concatenate([graph.node_features for graph in graphs]), rows)
