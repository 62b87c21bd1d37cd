"""Grids (plot_grid_crf, plot_directional_grid): one table for all edges, and one for each direction."""

from neuralfactors import FrankWolfeSVM, grid_graph
from neuralfactors.datasets import make_blocks, make_crosses


def main(quick=False):
    n = 8 if quick else 50
    X, Y = make_crosses(n, centre=True)
    graphs, labels = [grid_graph(x) for x in X], Y.reshape(n, -1)
    crosses = FrankWolfeSVM(C=100.0, tol=0.1, max_iter=10 if quick else 50).fit(graphs, labels)
    print(f"crosses, training accuracy: {crosses.score(graphs, labels):.3f}")
    X, Y = make_blocks(20, n_labels=3, noise=2.0)
    graphs, labels = [grid_graph(x, directional=True) for x in X], Y.reshape(20, -1)
    blocks = FrankWolfeSVM(C=20.0, tol=0.1).fit(graphs, labels)
    print(f"stripes by direction, training accuracy: {blocks.score(graphs, labels):.3f}")
    z = blocks.loss_augmented_predict(graphs[:1], labels[:1])[0]
    print(f"loss-augmented: {(z != labels[0]).mean():.0%} of the pixels are wrong")


if __name__ == "__main__":
    main()
