"""
Costs of your own
=================
By default every wrong label costs 1. ``class_weight`` of shape (L, L) says what it costs to predict the label of the
column where that of the row is true. ``node_weight`` says it node by node. Signs of weights can be fixed, too.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import CuttingPlaneSVM, FrankWolfeSVM, Graph, grid_graph
from neuralfactors.datasets import make_blocks
from neuralfactors.metrics import confusion_matrix

n = 30  # 6 in tests
n_passes = 100  # 10 in tests
X, Y = make_blocks(n, n_labels=3, noise=3.0)
graphs, labels = [grid_graph(x) for x in X], Y.reshape(n, -1)

# %%
# To miss label 2 costs five times as much as any other mistake.

costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [5.0, 5.0, 0.0]])
found = {}
for name, weight in {"all mistakes alike": None, "missing label 2 costs 5": costs}.items():
    learner = FrankWolfeSVM(class_weight=weight, tol=0.1, max_iter=n_passes).fit(graphs, labels)
    found[name] = np.stack(learner.predict(graphs))
    missed = (found[name] != 2)[labels == 2].mean()
    print(f"{name}: mean cost {costs[labels, found[name]].mean():.3f}, {missed:.0%} of label 2 missed")

# %%
# Shares of the predicted labels, for each true one.

figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
for axis, (name, y_pred) in zip(axes, found.items(), strict=True):
    counts = confusion_matrix(labels.ravel(), y_pred.ravel(), 3)
    shares = counts / counts.sum(axis=1, keepdims=True)
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for a, b in np.ndindex(3, 3):
        axis.text(
            b, a, f"{shares[a, b]:.0%}", ha="center", va="center", color="black" if shares[a, b] < 0.6 else "white"
        )
    axis.set(title=name, xlabel="predicted", ylabel="true", xticks=range(3), yticks=range(3))
plt.show()

# %%
# Costs by node and label: here the right half of a picture hardly counts.

left = np.broadcast_to(np.where(np.arange(Y.shape[2]) < 6, 1.0, 0.05), Y.shape[1:]).ravel()
by_place = [
    Graph(graph.node_features, graph.edges, node_weight=left[:, None] * costs[y])
    for graph, y in zip(graphs, labels, strict=True)
]
learner = FrankWolfeSVM(tol=0.1, max_iter=n_passes).fit(by_place, labels)
print(f"costs by pixel: training accuracy {learner.score(by_place, labels):.3f}")

# %%
# Interactions that only attract: weights of equal labels are at least 0, all others at most 0. A second ``fit`` with
# ``warm_start`` continues from the constraints that the first one found.

attract = 2 * np.eye(3) - 1
learner = CuttingPlaneSVM(interaction_sign=attract, warm_start=True, tol=0.1, max_iter=n_passes).fit(graphs, labels)
print("table:", learner.model_.interaction.bias.view(3, 3).numpy().round(2).tolist())
passes = len(learner.history_)
learner.set_params(C=1.2 * learner.C_).fit(graphs, labels)
print(f"passes: {passes}, with a larger C from there: {len(learner.history_)}")
