"""
One graph, few labels
=====================
A citation-like graph: papers have noisy features, and mostly cite papers of their own field. The field of every tenth
paper is known. Labels of −1 are unknown: :class:`~neuralfactors.StructuralSVM` completes them by inference while it
learns, and ``predict(..., known=...)`` keeps those that are given.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from neuralfactors import Graph, StructuralSVM
from neuralfactors.plots import plot_graph

n_papers = 400  # 120 in tests
n_epochs = 100  # 5 in tests
N_FIELDS, N_FEATURES = 5, 12

# %%
# Features are those of the field plus strong noise. Nine of ten citations stay within the field.

rng = np.random.default_rng(0)
y = rng.integers(N_FIELDS, size=n_papers)
features = 0.5 * rng.normal(size=(N_FIELDS, N_FEATURES))[y] + rng.normal(size=(n_papers, N_FEATURES))
citing = np.repeat(np.arange(n_papers), 3)
peers = [rng.choice(np.flatnonzero(y == y[paper])) for paper in citing]
cited = np.where(rng.random(len(citing)) < 0.9, peers, rng.integers(n_papers, size=len(citing)))
edges = np.stack([citing, cited], axis=1)[citing != cited]
graph = Graph(features, edges)

given = rng.random(n_papers) < 0.1
y_known = np.where(given, y, -1)

# %%
# Logistic regression sees the features and no edges. The joint model sees both, and at prediction time also the labels
# that are known.

alone = LogisticRegression().fit(features[given], y[given]).predict(features)
svm = StructuralSVM((), (), max_iter=n_epochs).fit([graph], [y_known])
joint = svm.predict([graph], known=[y_known])[0]
for name, labels in {"features only": alone, "features and citations": joint}.items():
    print(f"{name}: {np.mean((labels == y)[~given]):.3f} of the unlabelled papers")

# %%
# Each paper is drawn around the corner of its true field.

angle = 2 * np.pi * y / N_FIELDS
places = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.25 * rng.normal(size=(n_papers, 2))
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
shown = {"known": np.where(given, y, np.nan), "features only": alone, "joint": joint}
for axis, (name, labels) in zip(axes, shown.items(), strict=True):
    plot_graph(graph, labels, places, axes=axis, s=14, cmap="tab10", vmin=0, vmax=9, linewidths=0.3)
    for line in axis.lines:
        line.set(linewidth=0.2)
    axis.set_title(name)
plt.show()
