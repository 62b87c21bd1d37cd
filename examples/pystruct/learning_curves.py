"""Objective and dual while learning (plot_ssvm_objective_curves, plot_objective_curve, plot_exact_learning)."""

from neuralfactors import CuttingPlaneSVM, FrankWolfeSVM, grid_graph
from neuralfactors.datasets import make_blocks
from neuralfactors.plots import plot_history


def main(quick=False, picture=None):
    n = 4 if quick else 10
    X, Y = make_blocks(n, n_labels=3, noise=1.0)
    graphs, labels = [grid_graph(x) for x in X], Y.reshape(n, -1)
    axes = None
    learners = CuttingPlaneSVM(C=0.1 * n, slack="1"), CuttingPlaneSVM(C=0.1 * n), FrankWolfeSVM(C=0.1 * n)
    for learner in learners:
        last = learner.fit(graphs, labels).history_[-1]
        found = f"objective {last['objective']:.3f}, at least {last['dual']:.3f}, {last['epoch']} passes"
        print(f"{type(learner).__name__}: {found}")
        axes = plot_history(learner.history_, axes=axes) if picture else None
    if picture:
        axes.figure.savefig(picture)


if __name__ == "__main__":
    main(picture="learning_curves.png")
