"""
Objective and bound while learning
==================================
Linear factors make a convex problem. :class:`~neuralfactors.CuttingPlaneSVM` and :class:`~neuralfactors.FrankWolfeSVM`
solve it with a dual bound, below which no weights can push the objective.
"""

import matplotlib.pyplot as plt

from neuralfactors import CuttingPlaneSVM, FrankWolfeSVM, grid_graph
from neuralfactors.datasets import make_blocks
from neuralfactors.plots import plot_history

n = 10  # 4 in tests
X, Y = make_blocks(n, n_labels=3, noise=1.0)
graphs, labels = [grid_graph(x) for x in X], Y.reshape(n, -1)
learners = {
    "cutting planes, one slack": CuttingPlaneSVM(C=0.1 * n, slack="1"),
    "cutting planes, N slacks": CuttingPlaneSVM(C=0.1 * n),
    "Frank-Wolfe": FrankWolfeSVM(C=0.1 * n),
}

figure, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True, layout="constrained")
for axis, (name, learner) in zip(axes, learners.items(), strict=True):
    history = learner.fit(graphs, labels).history_
    last = history[-1]
    print(f"{name}: objective {last['objective']:.3f}, at least {last['dual']:.3f}, {last['epoch']} passes")
    plot_history(history, axes=axis)
    axis.set_title(name)
plt.show()
