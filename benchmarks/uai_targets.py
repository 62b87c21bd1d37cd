"""What the runs on the UAI problems say: figures of each family, and the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from best_uai import BestScores
from harness import Report
from uai_runs import End, Point, is_better, table_times

PROVABLE = ("Segmentation", "scene", "protein")
FRUSTRATED = ("Grids/", "uai14-wcsp/", "uai14-ProteinFolding/ProteinFolding_11")  # the last is a grid by another name
BOUND_ROUNDING = 1e-6  # bounds that differ by less, relative to their size, are equal: some come from single precision
PATIENCE = 30.0  # seconds that the solvers had for the reference labellings


@dataclass
class Trial:
    """All that was measured on one problem."""

    name: str  # family/name
    size: tuple[int, int, int]  # nodes, edges, labels
    reference: float | None  # score of the labelling that was published with the problem
    curves: dict[str, list[Point]] = field(default_factory=dict)
    default: End | None = None
    rivals: dict[str, Point] = field(default_factory=dict)  # what they knew in the time of `default`
    patient: End | None = None  # `auto` after PATIENCE seconds, where less did not reach the reference
    load: float = 0.0  # average number of programs that wanted a core, this one included

    def reaches_reference(self, longest: float) -> bool:
        """Whether `auto` has found a labelling that is as good as the published one."""
        scores = [self.at("auto", longest).score, *([self.patient.score] if self.patient else [])]
        return not is_better(self.reference or 0.0, max(scores))

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    def has(self, method: str, time: float) -> bool:
        return any(point.time == time for point in self.curves.get(method, []))

    def at(self, method: str, time: float) -> Point:
        return next(point for point in self.curves[method] if point.time == time)


def gap(point: Point | End, best: float) -> float:
    """Distance of the score below the best known in per cent of it; of 1 where that is 0."""
    return above(best, point.score, best)


def bound_gap(point: Point | End, best: float) -> float:
    """Distance of the bound above the best score known, in per cent of it."""
    return above(point.bound, best, best)


def above(high: float, low: float, best: float) -> float:
    return 100 * (high - low) / (abs(best) or 1.0) if is_better(high, low) else 0.0


def report_family(report: Report, family: str, trials: Sequence[Trial], best: BestScores, longest: float) -> None:
    """Rows of one family: `auto` at all times, the others at the longest."""
    for method in dict.fromkeys(method for trial in trials for method in trial.curves):
        for time in table_times(longest) if method == "auto" else [longest]:
            if not all(trial.has(method, time) for trial in trials):
                continue
            points = [(trial.at(method, time), best.score(trial.name)) for trial in trials]
            case, when = f"{family} ({len(trials)}), {method}", f"after {time:g} s"
            report.measured(case, f"{when}: mean gap %", np.mean([gap(*pair) for pair in points]))
            report.measured(case, f"{when}: proved %", 100 * np.mean([point.proved for point, _ in points]))
            report.measured(case, f"{when}: mean bound gap %", np.mean([bound_gap(*pair) for pair in points]))


def check_rivals(report: Report, trials: Sequence[Trial]) -> None:
    """Target (a): in the time of `auto`, no other method has a better score or a lower bound."""
    scores, bounds = [], []
    for trial in trials:
        assert trial.default is not None
        for method, known in trial.rivals.items():
            if is_better(known.score, trial.default.score):
                scores.append(f"{trial.name} ({method})")
            if known.bound < trial.default.bound - BOUND_ROUNDING * max(1.0, abs(trial.default.bound)):
                bounds.append(f"{trial.name} ({method})")
    report.at_most("default auto", "better scores by others in its time", len(scores), 0)
    report.at_most("default auto", "lower bounds by others in its time", len(bounds), 0)
    for what, names in (("Better scores", scores), ("Lower bounds", bounds)):
        if names:
            report.note(f"{what} than those of default `auto`, in its time: {', '.join(names)}.")


def check_proofs(report: Report, trials: Sequence[Trial], longest: float) -> None:
    """Target (b): easy families are proved within a second."""
    within = max(time for time in table_times(longest) if time <= 1)
    for family in PROVABLE:
        members = [trial for trial in trials if trial.family == family]
        if members:
            open_ = [trial.name for trial in members if not trial.at("auto", within).proved]
            report.at_most(f"{family}, auto", f"not proved within {within:g} s", len(open_), 0)
            if open_:
                report.note(f"Not proved within {within:g} s: {', '.join(open_)}.")


def check_gaps(report: Report, trials: Sequence[Trial], best: BestScores, longest: float) -> None:
    """Target (c): near the best known by default, and on frustrated problems after a second."""
    within = max(time for time in table_times(longest) if time <= 1)
    for family in sorted({trial.family for trial in trials}):
        members = [t for t in trials if t.family == family and not t.name.startswith(FRUSTRATED)]
        if members:
            gaps = [gap(trial.default, best.score(trial.name)) for trial in members if trial.default is not None]
            report.at_most(f"{family}, default auto", "mean gap %", np.mean(gaps), 0.1)
    for start in FRUSTRATED:
        gaps = [gap(t.at("auto", within), best.score(t.name)) for t in trials if t.name.startswith(start)]
        if gaps:
            case = start.strip("/").rpartition("/")[2]
            report.at_most(f"{case}, auto", f"mean gap % after {within:g} s", np.mean(gaps), 1)


def check_references(report: Report, trials: Sequence[Trial], longest: float) -> None:
    """Target (d): at least the published labelling, in the time that it took."""
    published = [trial for trial in trials if trial.reference is not None]
    below = [trial.name for trial in published if not trial.reaches_reference(longest)]
    seconds = max(longest, *(PATIENCE for trial in published if trial.patient), 0)
    if published:
        share = 100 * (1 - len(below) / len(published))
        report.at_least("auto", f"reference labelling reached after {seconds:g} s, % of {len(published)}", share, 95)
    if below:
        report.note(f"Below the reference labelling after {seconds:g} s: {', '.join(below)}.")
