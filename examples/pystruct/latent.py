"""Hidden states and hidden nodes (plot_latent_crf, plot_latent_node, plot_latent_svm_as_crf)."""

from itertools import product

import numpy as np
from sklearn.datasets import load_digits

from neuralfactors import FrankWolfeSVM, Graph, LatentSVM, grid_edges, grid_graph, point_graphs
from neuralfactors.datasets import make_boxes, make_crosses

GRID = grid_edges(4, 4)
QUARTERS = [(16 + 2 * a + b, 4 * (2 * a + i) + 2 * b + j) for a, b, i, j in product((0, 1), repeat=4)]


def with_hidden_nodes(x):
    """A 4 × 4 picture with a hidden node for each quarter; features tell pixels and kinds of edges apart."""
    nodes = np.zeros((20, 3))
    nodes[:16, :2], nodes[16:, 2] = x.reshape(16, 2), 1
    return Graph(nodes, np.concatenate([GRID, QUARTERS]), np.repeat(np.eye(2), [len(GRID), 16], axis=0))


def main(quick=False):
    X, Y = make_crosses(20, size=8, n_crosses=1, noise=5)
    graphs, labels = [grid_graph(x) for x in X], Y.reshape(20, -1)
    base = FrankWolfeSVM(C=100.0, tol=0.2, max_iter=20 if quick else 200)
    for name, learner in {"plain": base, "two states of the cross": LatentSVM([1, 2], base=base)}.items():
        learner.fit(graphs[:10], labels[:10])
        print(f"crosses, {name}: {learner.score(graphs[10:], labels[10:]):.3f}")

    X, Y = make_boxes(20, random_state=1)
    plain = FrankWolfeSVM().fit([grid_graph(x) for x in X], Y.reshape(20, -1))
    print(f"boxes, plain: {plain.score([grid_graph(x) for x in X], Y.reshape(20, -1)):.3f}")
    graphs = [with_hidden_nodes(x) for x in X]
    labels = [np.concatenate([y.ravel(), np.full(4, -1)]) for y in Y]
    print(f"boxes, hidden nodes: {LatentSVM(1, base=FrankWolfeSVM()).fit(graphs, labels).score(graphs, labels):.3f}")

    X, y = load_digits(return_X_y=True)
    graphs, odd = point_graphs(X / 16), (y % 2)[:, None]
    n = 60 if quick else 900
    for name, n_states in {"plain": 1, "five states each": 5}.items():
        learner = LatentSVM(n_states, base=FrankWolfeSVM(max_iter=30, tol=0.1)).fit(graphs[:n], odd[:n])
        print(f"odd digits, {name}: {learner.score(graphs[900:], odd[900:]):.3f}")


if __name__ == "__main__":
    main()
