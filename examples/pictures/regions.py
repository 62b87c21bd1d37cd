"""
Symmetric and antisymmetric features
====================================
Regions of images come in no order, so an edge may point either way. Whether two regions look alike does not depend on
the direction of the edge: its table must be symmetric. Which of the two lies above does: its table must change its
sign with the direction. Telling the model so saves half of the parameters.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import FrankWolfeSVM, Graph, grid_edges
from neuralfactors.plots import plot_grid

n_images = 120  # 10 in tests
n_passes = 300  # 3 in tests
SKY, OBJECT, GROUND = range(3)
HEIGHT, WIDTH = 6, 8

# %%
# Sky above ground, and objects that stand on it. Regions are cells of a small grid, whose edges point either way by
# chance. Wrong labels cost as much as the region is large.


def draw(rng):
    """A graph of regions, with edge features (likeness, above), and their labels."""
    y = np.where(np.arange(HEIGHT)[:, None] < rng.integers(2, 5), SKY, GROUND) * np.ones((1, WIDTH), int)
    horizon = int((y[:, 0] == SKY).sum())
    for column in rng.choice(WIDTH, size=3, replace=False):
        y[horizon - 1 : horizon + 1, column] = OBJECT
    colours = np.array([[0.0, 1.0], [0.4, 0.5], [0.2, 0.9]])[y] + 0.35 * rng.normal(size=(HEIGHT, WIDTH, 2))
    edges = grid_edges(HEIGHT, WIDTH)
    x, rows = colours.reshape(-1, 2), np.repeat(np.arange(HEIGHT), WIDTH)
    unlike = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    above = rows[edges[:, 1]] - rows[edges[:, 0]]
    flip = rng.random(len(edges)) < 0.5
    edges[flip], above = edges[flip, ::-1], np.where(flip, -above, above)
    area = rng.uniform(0.5, 2.0, size=len(x))
    return Graph(x, edges, np.stack([np.exp(-unlike), above], axis=1), node_weight=area), y.ravel()


rng = np.random.default_rng(0)
X, Y = zip(*(draw(rng) for _ in range(n_images)), strict=True)
half = n_images // 2

# %%
# ``symmetric`` has an entry for each edge feature: 1 for symmetric, −1 for antisymmetric, 0 for any table.

kinds = {"any tables": False, "symmetric": True, "likeness symmetric, above not": [1, -1]}
learners = {}
for name, symmetric in kinds.items():
    learner = FrankWolfeSVM(symmetric=symmetric, tol=0.1, max_iter=n_passes, class_weight="balanced")
    learners[name] = learner.fit(X[:half], Y[:half])
    print(f"{name}: {learner.score(X[half:], Y[half:]):.3f} of the area")

figure, axes = plt.subplots(1, 4, figsize=(11, 2.4), layout="constrained")
found = {"truth": Y[-1], **{name: learner.predict(X[-1:])[0] for name, learner in learners.items()}}
for axis, (name, labels) in zip(axes, found.items(), strict=True):
    plot_grid(labels, (HEIGHT, WIDTH), axes=axis, vmin=0, vmax=2)
    axis.set_title(name, fontsize=10)
plt.show()
