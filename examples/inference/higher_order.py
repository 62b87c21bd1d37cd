"""
A factor over three nodes
=========================
Tables of two neighbours can prefer equal labels: they turn a slope into a staircase. A table of *three* neighbours can
prefer a constant slope. ``factors=`` of :func:`~neuralfactors.solve` takes factors over any number of nodes, beside
the edges or in place of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import chain_edges, solve

n_steps = 60  # 20 in tests
n_labels = 24

rng = np.random.default_rng(0)
time = np.linspace(0, 1, n_steps)
truth = n_labels * np.where(time < 0.5, 0.1 + 1.4 * time, 1.4 - 1.2 * time)
seen = truth + 2.5 * rng.normal(size=n_steps)

# %%
# The unary scores are the same for both models: the squared distance from what was seen.

labels = np.arange(n_labels)
unary = -0.04 * (labels - seen[:, None]) ** 2
edges = chain_edges(n_steps)

# %%
# With pairs, every step between neighbours costs.

steps = np.abs(np.subtract.outer(labels, labels))
pairs = solve(unary, -0.3 * np.minimum(steps, 4), edges)

# %%
# With triples, every *change* of the slope costs: the second difference, a − 2b + c.

a, b, c = np.meshgrid(labels, labels, labels, indexing="ij")
bend = -0.3 * np.minimum(np.abs(a - 2 * b + c), 6.0)
factors = [((i, i + 1, i + 2), bend) for i in range(n_steps - 2)]
nothing = np.zeros((0, n_labels, n_labels))
triples = solve(unary, nothing, np.zeros((0, 2), dtype=int), factors=factors)
for name, found in {"pairs": pairs, "triples": triples}.items():
    error = np.sqrt(np.mean((found.labels - truth) ** 2))
    print(f"{name}: {found.status}, gap {found.gap:.2f}, error {error:.2f} (seen: {(seen - truth).std():.2f})")

# %%
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(truth, color="0.7", linewidth=5, label="truth")
axis.plot(seen, ".", color="0.3", label="seen")
axis.step(np.arange(n_steps), pairs.labels, where="mid", label="pairs")
axis.plot(triples.labels, label="triples")
axis.legend(frameon=False, ncols=4)
plt.show()
