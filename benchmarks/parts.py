"""`auto` beside its parts on invented problems, with the same CPU time: where does one of them know better?

Each problem is solved by default and with time limits. A part then gets as much CPU time as `auto` really took.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import harness
import invented
from harness import Report
from uai_runs import End, Point, run_once

from neuralfactors.inference import MapProblem

PARTS = ("trws", "bp", "alpha-expansion", "icm")
ROUNDING = 1e-6  # relative to a score or bound: some bounds come from single precision
LIMITS = (None, 0.1, 1.0)  # None: `auto` ends by itself
MOST = {"score": 5.0, "bound": 10.0}  # per cent of the problems on which a part may know better


@dataclass(frozen=True)
class Defeat:
    """A part knew better than `auto` in the same time."""

    problem: str
    part: str
    what: str  # "score" or "bound"
    difference: float  # in per cent of the score

    def __str__(self) -> str:
        return f"{self.problem} {self.part} {self.difference:.2g} %"


def known_by(problem: MapProblem, method: str, seconds: float) -> Point:
    """What a method knows after so many seconds of CPU time, which on a busy machine are more by the clock."""
    limit = 2 * seconds + 0.01
    while True:
        start = time.perf_counter()
        end, trace = run_once(problem, method, limit, time.thread_time)
        if end.seconds >= seconds or time.perf_counter() - start < limit:
            return trace.at(seconds, math.inf, end)
        limit *= 2


def defeats(name: str, problem: MapProblem, limit: float | None) -> list[Defeat]:
    auto, _ = run_once(problem, "auto", limit, time.thread_time)
    found = []
    for part in PARTS:
        known = known_by(problem, part, auto.seconds)
        for what, gain in gains(auto, known).items():
            if gain > ROUNDING:
                found.append(Defeat(name, part, what, 100 * gain))
    return found


def gains(auto: End, known: Point) -> dict[str, float]:
    """By how much what is known is better, relative to the score."""
    size = abs(auto.score) if math.isfinite(auto.score) and auto.score else 1.0
    higher = known.score - auto.score if known.score > auto.score else 0.0  # both may be -inf
    return {"score": higher / size, "bound": (auto.bound - known.bound) / size if known.bound < auto.bound else 0.0}


def compare(report: Report, families: Sequence[invented.Family], seeds: range, limit: float | None) -> None:
    """Rows of all families with one time limit."""
    found: list[Defeat] = []
    for family in families:
        for seed in seeds:
            found += defeats(f"{family.__name__}/{seed}", invented.invent(family, seed), limit)
    n_problems = len(families) * len(seeds)
    case = f"{n_problems} problems, {'default' if limit is None else f'{limit:g} s'}"
    for what, most in MOST.items():
        worse = [defeat for defeat in found if defeat.what == what]
        beaten = {defeat.problem for defeat in worse}
        report.at_most(case, f"beaten in {what}, % of the problems", 100 * len(beaten) / n_problems, most)
        for part in PARTS:
            by_part = [defeat.difference for defeat in worse if defeat.part == part]
            if by_part:
                report.measured(case, f"beaten in {what} by {part}, problems", len(by_part))
                report.measured(case, f"beaten in {what} by {part}, median %", sorted(by_part)[len(by_part) // 2])
        if worse:
            report.note(f"{case}, {what}: {', '.join(map(str, worse))}.")


def measure(report: Report, quick: bool, first: int, seeds: int, aside: bool) -> None:
    """All families with each time limit."""
    families = invented.ASIDE if aside else invented.LOOKED_AT
    run_once(invented.invent(families[0], 0), "auto", 0.01)  # the first call pays for imports
    for limit in LIMITS[:1] if quick else LIMITS:
        compare(report, families, range(first, first + (1 if quick else seeds)), limit)


if __name__ == "__main__":
    harness.main(
        "auto and its parts",
        measure,
        {
            "first": {"type": int, "default": 0, "help": "the first seed; rules were set while looking at 0 to 33"},
            "seeds": {"type": int, "default": 5, "help": "how many seeds of each family"},
            "aside": {"action": "store_true", "help": "take the families at which nobody looks while setting rules"},
        },
    )
