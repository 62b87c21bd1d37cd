"""
Hidden states and hidden nodes
==============================
A label may stand for several things that look different: odd digits are 1, 3, 5, 7 and 9.
:class:`~neuralfactors.LatentSVM` gives labels hidden states, which it finds itself. Nodes labelled −1 are hidden
altogether.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from neuralfactors import FrankWolfeSVM, Graph, LatentSVM, grid_edges, grid_graph, point_graphs
from neuralfactors.datasets import make_boxes, make_crosses

n_digits = 900  # 100 in tests
n_passes = 200  # 10 in tests

# %%
# Odd or even? A linear score of the pixels cannot say; five linear scores for each of the two labels can. Points are
# graphs of one node.

X, digits = load_digits(return_X_y=True)
points, odd = point_graphs(X / 16), (digits % 2)[:, None]
learners = {}
for name, n_states in {"one state": 1, "five states": 5}.items():
    base = FrankWolfeSVM(max_iter=min(n_passes, 30), tol=0.1)
    learners[name] = LatentSVM(n_states, base=base).fit(points[:n_digits], odd[:n_digits])
    print(f"odd or even, {name}: {learners[name].score(points[900:], odd[900:]):.3f}")

# %%
# The mean of the digits that each state explains: nobody told the model that there are ten digits.

states = np.concatenate(learners["five states"].base_.predict(points[:n_digits]))
figure, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for state, axis in enumerate(axes.flat):
    members = X[:n_digits][states == state]
    axis.imshow(members.mean(axis=0).reshape(8, 8) if len(members) else np.zeros((8, 8)), cmap="gray_r")
    axis.set_title(f"{('even', 'odd')[state // 5]}, state {state % 5}", fontsize=9)
    axis.set_axis_off()
plt.show()

# %%
# Crosses in noise: two states of the label "cross" can be its middle and its arms.

X_crosses, Y_crosses = make_crosses(20, size=8, n_crosses=1, noise=5)
graphs, labels = [grid_graph(x) for x in X_crosses], Y_crosses.reshape(20, -1)
base = FrankWolfeSVM(C=100.0, tol=0.2, max_iter=n_passes)
for name, learner in {"plain": base, "two states of the cross": LatentSVM([1, 2], base=base)}.items():
    learner.fit(graphs[:10], labels[:10])
    print(f"crosses, {name}: {learner.score(graphs[10:], labels[10:]):.3f}")

# %%
# Hidden nodes: each quarter of a 4 × 4 picture has a node of its own that is never labelled and learns to say whether
# the box is there.

GRID = grid_edges(4, 4)
QUARTERS = [(16 + 2 * a + b, 4 * (2 * a + i) + 2 * b + j) for a, b, i, j in product((0, 1), repeat=4)]


def with_hidden_nodes(x):
    """A picture with a hidden node for each quarter; features tell pixels and kinds of edges apart."""
    nodes = np.zeros((20, 3))
    nodes[:16, :2], nodes[16:, 2] = x.reshape(16, 2), 1
    return Graph(nodes, np.concatenate([GRID, QUARTERS]), np.repeat(np.eye(2), [len(GRID), 16], axis=0))


X_boxes, Y_boxes = make_boxes(20, random_state=1)
plain = [grid_graph(x) for x in X_boxes], Y_boxes.reshape(20, -1)
hidden = [with_hidden_nodes(x) for x in X_boxes], [np.append(y.ravel(), [-1] * 4) for y in Y_boxes]
print(f"boxes, plain: {FrankWolfeSVM(max_iter=n_passes).fit(*plain).score(*plain):.3f}")
print(f"boxes, hidden nodes: {LatentSVM(1, base=FrankWolfeSVM(max_iter=n_passes)).fit(*hidden).score(*hidden):.3f}")
