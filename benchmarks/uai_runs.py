"""What a method knows of a problem after so many seconds: by one run that is watched, or by a run for each limit."""

from __future__ import annotations

import bisect
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference import MapProblem, solve

WATCHED = ("auto", "trws", "alpha-expansion")  # they call back; with factors over three or more nodes, nothing does
ROUNDING = 1e-9  # scores that differ by less, relative to the larger, are equal
GRACE = 120.0  # seconds beyond the limit for toulbar2's process: Python builds the network, which may take long

TIMES = (0.01, 0.1, 1.0)  # and the longest
PER_DECADE = 8  # points of a curve

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Point:
    """What was known when a method had been given `time` seconds; `seconds` is how long it really ran."""

    time: float
    score: float
    bound: float
    proved: bool
    seconds: float

    def as_list(self) -> list[float | bool | None]:
        """The fields as JSON has them: what is infinite is None."""
        score, bound = (value if math.isfinite(value) else None for value in (self.score, self.bound))
        return [round(self.time, 6), score, bound, self.proved, round(self.seconds, 6)]


@dataclass(frozen=True)
class End:
    """How a run ended."""

    score: float
    bound: float
    proved: bool
    seconds: float
    labels: Labels | None  # None: none was found

    def point(self, given: float) -> Point:
        return Point(given, self.score, self.bound, self.proved, self.seconds)


@dataclass
class Trace:
    """Scores and bounds in the order in which a run found them; a callback for `solve`.

    Time counts from the call of `solve`, which checks its arguments before its own clock starts.
    """

    clock: Callable[[], float] = time.perf_counter
    seconds: list[float] = field(default_factory=list)
    found: list[tuple[float, float]] = field(default_factory=list)  # score, bound

    def __post_init__(self) -> None:
        self.start = self.clock()

    def __call__(self, _: float, score: float, bound: float) -> None:
        self.seconds.append(self.clock() - self.start)
        self.found.append((score, bound))

    def elapsed(self) -> float:
        return self.clock() - self.start

    def at(self, given: float, limit: float, end: End) -> Point:
        """What a run with the time limit `limit` that ended as `end` knew after `given` seconds.

        A step may overrun the limit a little; what it then returns counts as known at the limit.
        """
        if given >= min(limit, end.seconds):
            return end.point(given)
        place = bisect.bisect_right(self.seconds, given)
        score, bound = self.found[place - 1] if place else (-math.inf, math.inf)
        return Point(given, score, bound, False, given)


def curve_times(longest: float) -> list[float]:
    """Times from a millisecond to the longest, evenly on a logarithmic scale, with those of the tables."""
    count = round(PER_DECADE * math.log10(longest / 1e-3)) + 1
    return sorted({*np.geomspace(1e-3, longest, count).round(6).tolist(), *table_times(longest)})


def table_times(longest: float) -> list[float]:
    return [time for time in TIMES if time < longest] + [longest]


def compact(points: Sequence[Point]) -> list[Point]:
    """The points at which something changed: the score, the bound, the proof, or how long an ended run took."""
    kept: list[Point] = []
    for point in points:
        last = kept[-1] if kept else None
        same = last is not None and (point.score, point.bound, point.proved) == (last.score, last.bound, last.proved)
        if not (same and last is not None and point.seconds in (last.seconds, point.time)):
            kept.append(point)
    return kept


def score_of(problem: MapProblem, labels: Labels) -> float:
    """Score of a labelling in float64, from the tables alone, by code that no solver shares."""
    values = [row[label] for row, label in zip(problem.unary, labels, strict=True)]
    values += [table[tuple(labels[e])] for e, table in zip(problem.edges, problem.interaction, strict=True)]
    values += [table[tuple(labels[nodes])] for nodes, table in problem.factors]
    return math.fsum(values)


def is_better(score: float, other: float) -> bool:
    """Whether `score` is above `other` by more than rounding."""
    return score > other and not math.isclose(score, other, rel_tol=ROUNDING, abs_tol=ROUNDING)


def run_once(
    problem: MapProblem, method: str, limit: float | None = None, clock: Callable[[], float] = time.perf_counter
) -> tuple[End, Trace]:
    """A run of `solve` and what it said on its way."""
    trace = Trace(clock)
    result = solve(*problem, method=method, time_limit=limit, callback=trace)
    seconds = trace.elapsed()
    return End(result.score, result.bound, result.status == "optimal", seconds, result.labels), trace


def watch(problem: MapProblem, method: str, times: Sequence[float]) -> tuple[list[Point], End]:
    """Points of one run that has the longest of `times`."""
    limit = max(times)
    end, trace = run_once(problem, method, limit)
    return [trace.at(given, limit, end) for given in times], end


def run_for_each(run: Callable[[float], End], times: Sequence[float]) -> tuple[list[Point], End]:
    """Points of a run for each of `times`; one that ended by itself stands for all longer ones."""
    points: list[Point] = []
    end = None
    for given in sorted(times):
        if end is None or not (end.proved or end.seconds < points[-1].time):
            end = run(given)
        points.append(end.point(given))
    assert end is not None
    return points, end


def run_toulbar2(path: Path, limit: float) -> End:
    """What toulbar2 alone finds in a problem file, in a process of its own: it keeps its timer in the process."""
    command = [sys.executable, str(Path(__file__).with_name("toulbar2_alone.py")), str(path), str(round(limit))]
    try:
        process = subprocess.run(command, capture_output=True, timeout=limit + GRACE, check=False)
    except subprocess.TimeoutExpired:
        return End(-math.inf, math.inf, False, limit + GRACE, None)
    if process.returncode != 0:
        raise RuntimeError(f"toulbar2 failed on {path.name}: {process.stderr.decode(errors='replace')[-300:]}")
    answer = json.loads(process.stdout.decode().strip().rpartition("\n")[2])
    labels = None if answer["labels"] is None else np.array(answer["labels"], np.int64)
    return End(answer["score"], answer["bound"], answer["proved"], answer["seconds"], labels)
