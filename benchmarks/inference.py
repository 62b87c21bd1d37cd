"""Speed, quality and certificates of the MAP engine, against alpha-expansion with QPBO moves by thinqpbo."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import harness
import instances
import numpy as np
import reference
import scale
from best_known import BestKnown
from harness import Report, interleave
from instances import Instance

from neuralfactors.inference import Result, solve, solve_batch

TOLERANCE = 1e-4
PATIENCE = 200  # iterations in which a tight relaxation must have closed


@dataclass(frozen=True)
class Family:
    """Instances that share targets: times faster than the reference, and mean gap to the best known in per cent."""

    name: str
    members: Sequence[Instance]
    speedup: float | None = None
    gap: float | None = None
    learned: bool = False


@dataclass
class Trial:
    """What the reference and two methods did on one instance."""

    instance: Instance
    reference_labels: np.ndarray
    auto: Result
    expansion: Result
    seconds: dict[str, float]  # reference, qpbo (its share inside QPBO), auto, alpha-expansion


@dataclass
class Tally:
    """All trials by family, for the statements that are about all of them."""

    trials: dict[str, list[Trial]] = field(default_factory=dict)

    def all(self) -> list[Trial]:
        return [trial for trials in self.trials.values() for trial in trials]


def families(report: Report, quick: bool) -> list[Family]:
    """The instance classes; without learned potentials, those of random networks stand in, and the report says so."""
    count = 2 if quick else 4
    folder = instances.potentials_folder()
    if folder is None:
        report.note("No learned potentials found (NEURALFACTORS_DATA): those of random networks stand in for them.")
        kind = "network"
        by_labels = {n: [instances.network(300, n, seed) for seed in range(count)] for n in (8, 21, 33)}
        large = [instances.network(1000, 21, seed) for seed in range(count)]
    else:
        kind = "learned"
        by_labels = {n: instances.load_learned(folder, n) for n in (8, 21, 33)}
        large = instances.stitched(by_labels[21], count)
    if quick:
        by_labels = {n: members[:count] for n, members in by_labels.items()}
    return [
        Family(f"{kind}, 21 labels", by_labels[21], speedup=12, gap=0.03, learned=True),
        Family(f"{kind}, 33 labels", by_labels[33], speedup=8, learned=True),
        Family(f"{kind}, 8 labels", by_labels[8], learned=True),
        Family(f"{kind}, 1000 nodes", large, speedup=8),
        *(
            Family(f"random, {strength}", [instances.gaussian(strength, seed) for seed in range(count)])
            for strength in instances.STRENGTHS
        ),
        Family("chains", [instances.chain(seed) for seed in range(count)]),
        Family("grids", [instances.grid(seed) for seed in range(count)]),
    ]


def run_trial(instance: Instance, repeats: int) -> Trial:
    """Results and interleaved median times of the reference, `auto` and `alpha-expansion`."""
    references: list[reference.Expansion] = []
    seconds = interleave(
        {
            "reference": lambda: references.append(reference.alpha_expansion(*instance.arrays)),
            "auto": lambda: solve(*instance.arrays),
            "alpha-expansion": lambda: solve(*instance.arrays, method="alpha-expansion"),
        },
        repeats,
    )
    seconds["qpbo"] = float(np.median([run.qpbo_seconds for run in references[1:]]))
    auto = solve(*instance.arrays, tol=TOLERANCE)
    return Trial(instance, references[0].labels, auto, solve(*instance.arrays, method="alpha-expansion"), seconds)


def mean_gap(trials: Sequence[Trial], scores: Sequence[float], best: BestKnown) -> float:
    """Mean distance of `scores` below the best known, in per cent of it."""
    known = np.array([best.score(trial.instance) for trial in trials])
    return float(np.mean(100 * (known - scores) / np.abs(known)))


def times_faster(trials: Sequence[Trial], method: str, than: str = "reference") -> float:
    """Total time of `than` over total time of `method`."""
    return sum(trial.seconds[than] for trial in trials) / sum(trial.seconds[method] for trial in trials)


def compare(report: Report, family: Family, trials: Sequence[Trial], best: BestKnown) -> None:
    """Rows on speed and quality of one instance class."""
    case = family.name
    report.measured(case, "reference, ms", 1e3 * np.mean([trial.seconds["reference"] for trial in trials]))
    report.measured(case, "reference, inside QPBO, ms", 1e3 * np.mean([trial.seconds["qpbo"] for trial in trials]))
    report.measured(case, "auto, ms", 1e3 * np.mean([trial.seconds["auto"] for trial in trials]))
    speedup = times_faster(trials, "auto")
    if family.speedup is None:
        report.measured(case, "auto, times faster", speedup)
    else:
        report.at_least(case, "auto, times faster", speedup, family.speedup)
    report.measured(case, "auto, times faster than QPBO alone", times_faster(trials, "auto", "qpbo"))
    expected = mean_gap(trials, [trial.instance.score(trial.reference_labels) for trial in trials], best)
    report.measured(case, "reference, mean gap %", expected)
    gap = mean_gap(trials, [trial.instance.score(trial.auto.labels) for trial in trials], best)
    if family.gap is None:
        report.measured(case, "auto, mean gap %", gap)
    else:
        report.at_most(case, "auto, mean gap %", gap, family.gap)
    report.at_most(case, "auto, mean gap less the reference's", round(gap - expected, 6), 0)
    report.at_least(case, "alpha-expansion, times faster", times_faster(trials, "alpha-expansion"), 5)
    gap = mean_gap(trials, [trial.instance.score(trial.expansion.labels) for trial in trials], best)
    report.measured(case, "alpha-expansion, mean gap %", gap)
    report.at_most(case, "alpha-expansion, mean gap less the reference's", round(gap - expected, 6), 0)


def compare_random(report: Report, tally: Tally, best: BestKnown) -> None:
    """Rows on the random tables of all strengths together."""
    trials = [trial for name, members in tally.trials.items() if name.startswith("random") for trial in members]
    report.at_least("random, all", "auto, times faster", times_faster(trials, "auto"), 1)
    gap = mean_gap(trials, [trial.instance.score(trial.auto.labels) for trial in trials], best)
    report.at_most("random, all", "auto, mean gap %", gap, 0.6)


def check_certificates(report: Report, tally: Tally, learned: Sequence[str], best: BestKnown, quick: bool) -> None:
    """Rows on bounds: valid everywhere, closed where theory says so, proofs on the learned instances."""
    count = 2 if quick else 8
    easy = [make(seed) for make in (instances.chain, instances.tree, instances.submodular) for seed in range(count)]
    solved = [(instance, solve(*instance.arrays, tol=TOLERANCE)) for instance in easy]
    trials = tally.all()
    results = [(t.instance, result) for t in trials for result in (t.auto, t.expansion)] + solved
    below = sum(result.bound < result.score for _, result in results)
    report.at_most("certificates", "bounds below their own score", below, 0)
    wrong = sum(result.bound < best.score(trial.instance) * (1 - 1e-7) for trial in trials for result in [trial.auto])
    report.at_most("certificates", "bounds below the best score known", wrong, 0)
    open_gaps = sum(result.bound - result.score > TOLERANCE * abs(result.score) for _, result in solved)
    report.at_most("certificates", f"open gaps on {len(solved)} trees and submodular cases", open_gaps, 0)
    proved = [trial.auto.status == "optimal" for name in learned for trial in tally.trials[name]]
    report.at_least("certificates", f"optimum proved on learned ({len(proved)}), %", 100 * np.mean(proved), 55)
    tight = [trial for trial in trials if trial.instance.is_tight]
    if tight:
        results = [solve(*trial.instance.arrays, tol=TOLERANCE, max_iter=PATIENCE) for trial in tight]
        unproved = sum(result.status != "optimal" for result in results)
        report.at_most(
            "certificates", f"unproved of {len(tight)} tight learned, given {PATIENCE} iterations", unproved, 0
        )


def measure_threads(report: Report, members: Sequence[Instance], quick: bool) -> None:
    """Rows on a batch solved by one and by two threads: the best wall-clock time of several."""
    batch = [*members] * 2
    node_ptr = np.cumsum([0] + [len(instance.unary) for instance in batch])
    edge_ptr = np.cumsum([0] + [len(instance.edges) for instance in batch])
    unary, interaction = (np.concatenate([i.arrays[k] for i in batch]) for k in (0, 1))
    edges = np.concatenate([i.edges + start for i, start in zip(batch, node_ptr[:-1], strict=True)])

    def run(n_threads: int) -> list[Result]:
        return solve_batch(unary, interaction, edges, node_ptr, edge_ptr, n_threads=n_threads)

    if os.getloadavg()[0] > 1.5:
        report.note("Other programs were busy, so two threads had less than two cores: that ratio is too low.")
    functions = {"one": lambda: run(1), "two": lambda: run(2)}
    seconds = interleave(functions, 2 if quick else 60, clock=time.perf_counter, summary=min)
    report.at_least(f"batch of {len(batch)}", "two threads, times faster", seconds["one"] / seconds["two"], 1.8)
    differ = sum(not np.array_equal(a.labels, b.labels) for a, b in zip(run(1), run(2), strict=True))
    report.at_most(f"batch of {len(batch)}", "labellings that depend on threads", differ, 0)


def measure_scale(report: Report, quick: bool) -> None:
    """Rows on the time of an iteration up to a million nodes, and on peak memory."""
    sizes = [10**3, 10**4, 10**5] if quick else [10**3, 10**4, 10**5, 10**6]
    costs = []
    for n_nodes in sizes:
        instance = scale.large_grid(n_nodes, n_labels=4)
        costs.append((len(instance.edges), scale.nanoseconds_per_edge(instance, 2 if quick else 5)))
        report.measured("trws, 4 labels", f"ns per edge and iteration at {costs[-1][0]} edges", costs[-1][1])
    edges, nanoseconds = np.log(costs).T
    exponent = np.polyfit(edges, edges + nanoseconds, 1)[0]
    report.at_most("trws, 4 labels", "iteration time grows as edges to the power", exponent, 1.1)
    for n_nodes, n_labels, method in ((sizes[-1] // 10, 21, "auto"), (sizes[-1], 4, "trws")):
        ratio = scale.memory_ratio(n_nodes, n_labels, method)
        report.at_most(f"{method}, {n_nodes} nodes, {n_labels} labels", "peak memory / input", ratio, 3)


def measure(report: Report, quick: bool) -> None:
    """Everything, one instance class after another."""
    best = BestKnown(quick)
    groups = families(report, quick)
    tally = Tally()
    for family in groups:
        trials = [run_trial(instance, 1 if quick else 5) for instance in family.members]
        for trial in trials:
            for labels in (trial.reference_labels, trial.auto.labels, trial.expansion.labels):
                best.offer(trial.instance, labels)
        tally.trials[family.name] = trials
        compare(report, family, trials, best)
    compare_random(report, tally, best)
    check_certificates(report, tally, [family.name for family in groups if family.learned], best, quick)
    best.save()
    measure_threads(report, groups[0].members, quick)
    measure_scale(report, quick)
    report.note("Times: thread CPU, median of interleaved repeats, one thread, one process; batches: wall clock.")
    report.note("Reference: thinqpbo called term by term from Python; 'inside QPBO' leaves out all that Python.")


if __name__ == "__main__":
    harness.main("MAP inference", measure)
