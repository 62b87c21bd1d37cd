"""
Compare the methods
===================
A Potts model on a grid, with random unary scores, by five methods. Every method returns a score, which it has reached,
and a bound, which no labelling exceeds. The gap between them is open. The default, ``"auto"``, runs the others in
turn until the gap is closed, or until further effort stops paying off.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import grid_edges, solve

side = 32  # 8 in tests
n_labels = 10
edges = grid_edges(side, side)
unary = np.random.default_rng(0).normal(size=(side * side, n_labels))

# %%
# ``icm``, ``bp`` and ``alpha-expansion`` know only the trivial bound, the sum of the best entries of all rows and
# tables. ``trws`` and ``auto`` solve a relaxation, whose value is a much better one.

results, seconds = {}, {}
for method in ("icm", "bp", "alpha-expansion", "trws", "auto"):
    start = time.perf_counter()
    results[method] = solve(unary, np.eye(n_labels), edges, method=method)
    seconds[method] = time.perf_counter() - start
    found = results[method]
    told = f"score {found.score:.2f}, at most {found.bound:.2f}, {found.status}"
    print(f"{method:15s} {told}, {1000 * seconds[method]:.1f} ms")

# %%
# How far each score lies below the best bound of all, and how long it took.

best = min(result.bound for result in results.values())
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for method, result in results.items():
    axis.scatter(1000 * seconds[method], 100 * (best - result.score) / best, s=60, label=method)
axis.set(xscale="log", xlabel="milliseconds", ylabel="below the bound, %")
axis.grid(alpha=0.3)
axis.legend(frameon=False)
plt.show()
