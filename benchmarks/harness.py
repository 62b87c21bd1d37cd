"""What every benchmark shares: fair timing in one process, a table of measurements and targets, and the command line.

A benchmark is a script that ends with `harness.main("title", measure)`, where `measure(report, quick)` adds rows. One
that has options of its own names them there and gets their values as keywords.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

# Features of images, which the benchmarks of pictures share.
CACHE = Path(os.environ.get("NEURALFACTORS_CACHE") or Path(__file__).parents[1] / "build" / "bench-cache" / "features")
WIDTH = 110  # of the table, where the terminal is narrower or there is none
Measure = Callable[..., None]  # (report, quick, **options)


@dataclass(frozen=True)
class Row:
    """One measurement; `at_least` says on which side of `target` it should lie. Without a target it always holds."""

    case: str
    metric: str
    value: float
    target: float | None = None
    at_least: bool = True

    @property
    def holds(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    def as_dict(self) -> dict[str, object]:
        value = self.value if math.isfinite(self.value) else None
        return {"case": self.case, "metric": self.metric, "value": value, "target": self.target, "holds": self.holds}


@dataclass
class Report:
    """Rows and remarks in the order in which they came; each is shown at once, so that a long run tells where it is."""

    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    console: Console = field(default_factory=lambda: Console(width=max(WIDTH, Console().width)))
    progress: Console = field(default_factory=lambda: Console(stderr=True, width=WIDTH))

    def at_least(self, case: str, metric: str, value: float, target: float) -> None:
        self._add(Row(case, metric, float(value), target, at_least=True))

    def at_most(self, case: str, metric: str, value: float, target: float) -> None:
        self._add(Row(case, metric, float(value), target, at_least=False))

    def measured(self, case: str, metric: str, value: float) -> None:
        """Add a row that has no target."""
        self._add(Row(case, metric, float(value)))

    def note(self, text: str) -> None:
        """Add a remark that stands below the table: what was estimated, left out or replaced."""
        self.notes.append(text)

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self.progress.print(f"{row.case}: {row.metric} {row.value:.4g}", style="dim", highlight=False)

    def table(self) -> Table:
        """All rows, with the targets and whether they hold."""
        table = Table(title=self.title, title_justify="left")
        table.add_column("case")
        table.add_column("metric")
        for heading in ("value", "target"):
            table.add_column(heading, justify="right")
        table.add_column("")
        previous = None
        for row in self.rows:
            target = "" if row.target is None else f"{'≥' if row.at_least else '≤'} {row.target:g}"
            verdict = "" if row.target is None else "[green]holds[/]" if row.holds else "[red]misses[/]"
            case = "" if row.case == previous else row.case
            table.add_row(case, row.metric, f"{row.value:.4g}", target, verdict)
            previous = row.case
        return table

    def show(self) -> None:
        """Print the table, the remarks and a count of the targets that hold."""
        self.console.print(self.table())
        for text in self.notes:
            self.console.print(f"• {text}", highlight=False)
        with_target = [row for row in self.rows if row.target is not None]
        held = sum(row.holds for row in with_target)
        self.console.print(f"{held} of {len(with_target)} targets hold.", style="bold")

    def write(self, path: Path) -> None:
        """Write the rows as a JSON list."""
        path.write_text(json.dumps([row.as_dict() for row in self.rows], indent=1) + "\n")


class Kept:
    """Results of a long benchmark's pieces, by name, in a JSON file: those that are there are not computed again."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._results: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def __call__(self, name: str, compute: Callable[[], Any]) -> Any:
        """The result of that name, which is computed if it is not there."""
        if name not in self._results:
            self._results[name] = compute()
            if self._path is not None:
                self._path.write_text(json.dumps(self._results, indent=1) + "\n")
        return self._results[name]


def interleave(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    *,
    clock: Callable[[], float] = time.thread_time,
    summary: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Seconds each function takes: all of them in turn, `repeats` times over, then the median of each.

    Thread CPU time does not count what other processes or threads do, and turns share what remains, such as a clock
    rate that drifts. For work on several threads pass `clock=time.perf_counter` and `summary=min`.
    """
    for function in functions.values():
        function()  # first calls pay for imports, page faults and caches
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, function in functions.items():
                start = clock()
                function()
                seconds[name].append(clock() - start)
    finally:
        if collecting:
            gc.enable()
    return {name: summary(times) for name, times in seconds.items()}


def main(title: str, measure: Measure, options: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Run a benchmark from the command line: measure, print the table, write it where `--json` says.

    `options` are further arguments by name, each with what `ArgumentParser.add_argument` takes.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--quick", action="store_true", help="fewer instances and repeats: a check that all of it runs")
    for name, settings in (options or {}).items():
        parser.add_argument(f"--{name}", **settings)
    arguments = parser.parse_args()
    report = Report(f"{title} ({platform.machine()}, Python {platform.python_version()})")
    if arguments.quick:
        report.note("A quick run: few instances and repeats, so the figures are rough.")
    measure(report, arguments.quick, **{name: getattr(arguments, name) for name in options or {}})
    report.show()
    if arguments.json is not None:
        report.write(arguments.json)
