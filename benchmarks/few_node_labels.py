"""One citation-like graph of which few nodes are labelled: accuracy on the others, beside what ignores half of it.

Logistic regression knows the features only, label propagation the edges only.
"""

from __future__ import annotations

import time
import warnings

import harness
import numpy as np
import scipy.sparse
import torch
from defaults import ONE_THREAD, citations
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from neuralfactors import Graph
from neuralfactors.estimators import StructuralSVM

SHARES = (0.05, 0.1, 0.2, 0.3)
ROUNDS = 100  # of label propagation, after which nothing changes
MODELS = {
    "StructuralSVM((), ())": StructuralSVM((), (), decoder=ONE_THREAD),
    "StructuralSVM()": StructuralSVM(decoder=ONE_THREAD),
}


def propagate(graph: Graph, y: NDArray, n_labels: int) -> NDArray:
    """Every node takes the mean of its neighbours, known labels stay: the harmonic solution."""
    first, second = graph.edges.T
    ones = np.ones(2 * len(first))
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    joined = scipy.sparse.csr_matrix((ones, ends), (len(y), len(y)))
    mean = scipy.sparse.diags(1 / np.maximum(np.asarray(joined.sum(axis=1)).ravel(), 1)) @ joined
    given = np.eye(n_labels)[y] * (y >= 0)[:, None]
    values = given
    for _ in range(ROUNDS):
        values = np.where((y >= 0)[:, None], given, mean @ values)
    return values.argmax(axis=1)


def measure_share(report: harness.Report, graph: Graph, y: NDArray, share: float) -> None:
    case, n_labels = f"{len(y)} nodes, {share:.0%} labelled", int(y.max()) + 1
    given = np.random.default_rng(5).random(len(y)) < share
    known = np.where(given, y, -1)

    def accuracy(predicted: NDArray) -> float:
        return float(np.mean((predicted == y)[~given]))

    features = LogisticRegression(max_iter=1000).fit(graph.node_features[given], y[given])
    rivals = {
        "logistic regression": accuracy(features.predict(graph.node_features)),
        "label propagation": accuracy(propagate(graph, known, n_labels)),
    }
    for name, value in rivals.items():
        report.measured(case, name, value)
    for name, model in MODELS.items():
        start = time.perf_counter()
        model.fit([graph], [known])
        report.measured(case, f"{name}, seconds", time.perf_counter() - start)
        report.measured(case, f"{name}, told no label", accuracy(model.predict([graph])[0]))
        found = accuracy(model.predict([graph], [known])[0])
        report.at_least(case, name, found, round(max(rivals.values()), 4))


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report.note("Estimators as they come: fit([graph], [y]) with −1 for what is not known, predict([graph], [y]).")
    n_nodes = 300 if quick else 10_000
    (X, (labelled,)), (_, (rest,)) = citations(n_nodes, 7, 4.4, 0.9)
    for share in SHARES:
        measure_share(report, X[0], np.maximum(labelled, rest), share)


if __name__ == "__main__":
    harness.main("Few node labels", measure)
