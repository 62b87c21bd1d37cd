"""What a report shows of a run, read from its folder. What is missing or damaged is listed in `problems`."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from neuralfactors._runs import NAMES, Epoch, Metrics, Regions, Row, RowFolder, Run, RunFolder, VariantName

ACCURACIES = ("pixel", "class_mean", "mean_iou")
T = TypeVar("T")


@dataclass(frozen=True)
class RowResults:
    """A variant of a run: its progress and its results."""

    variant: VariantName
    folder: RowFolder
    row: Row
    history: list[Epoch]
    metrics: Metrics | None

    def figure(self, key: str) -> float | None:
        """An accuracy, or a number of the row."""
        found: float | None = getattr(self.metrics if key in ACCURACIES else self.row, key, None)
        return found


@dataclass
class RunResults:
    """Everything that a report shows; of a comparison, `rows` and `examples` are those of one seed."""

    folder: RunFolder  # that of the examples
    run: Run
    rows: tuple[RowResults, ...] = ()
    examples: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    seeds: tuple[RunResults, ...] = ()
    regions: Regions | None = None  # of the training images

    def row(self, key: str) -> RowResults | None:
        """The row of that variant, if the run has it."""
        return next((row for row in self.rows if row.variant.key == key), None)

    def repeats(self, key: str) -> dict[int, RowResults]:
        """The row of that variant with each seed that has it."""
        runs = self.seeds or (self,)
        return {each.run.settings.seed: row for each in runs if (row := each.row(key))}

    def by_seed(self, key: str, figure: str) -> dict[int, float]:
        """A figure of that variant with each seed that has it."""
        found = {seed: row.figure(figure) for seed, row in self.repeats(key).items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def attempt(self, read: Callable[[], T], what: str = "") -> T | None:
        """What `read` returns, or None and a problem that begins with `what`."""
        try:
            return read()
        except (OSError, ValueError) as error:
            self.problems.append(what + reason(error, self.folder.path))
            return None

    def miss(self, path: Path) -> None:
        """Say that `path` is missing where it is."""
        if not path.exists():
            self.problems.append(f"{path.relative_to(self.folder.path).as_posix()} is missing")


def read_results(path: str | os.PathLike[str]) -> RunResults:
    """The results in the folder `path`; FileNotFoundError or ValueError where there is no run that can be read."""
    folder = RunFolder(Path(path))
    if not folder.path.is_dir():
        raise FileNotFoundError(f"{folder.path} is not a folder: expected a run there")
    run = folder.run()
    if run.search:
        raise ValueError(f"{path} contains a search for settings, which has no report: use 'neuralfactors info'")
    return _read_comparison(folder, run, run.seeds) if run.seeds else _read_run(folder)


def reason(error: Exception, folder: Path) -> str:
    """What is wrong with a file, in one line, its path as seen from `folder`."""
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.filename:
        told = "is missing" if isinstance(error, FileNotFoundError) else f"could not be read: {error.strerror}"
        text = f"{error.filename} {told}"
    return text.replace(f"{folder}{os.sep}", "")


def _read_run(folder: RunFolder) -> RunResults:
    """A run with all that can be read of it; what is missing or damaged is noted among the problems."""
    results = RunResults(folder, folder.run())
    settings = results.run.settings
    begun = [folder.row(key) for key in NAMES if key in settings.variants and folder.row(key).path.is_dir()]
    results.rows = tuple(row for row in (_read_row(each, results) for each in begun) if row)
    if not results.run.has_test:
        results.problems.append("the run has no test images, so nothing was evaluated")
    if not begun:
        results.problems.append("no variant has started")
    examples = results.attempt(folder.examples.read)
    results.examples = examples.names if examples else ()
    results.regions = results.attempt(folder.regions.read)
    if results.run.has_test and settings.n_examples:
        results.miss(folder.examples.path)
    return results


def _read_row(folder: RowFolder, results: RunResults) -> RowResults | None:
    """A row with all that can be read of it; what is missing or damaged is noted among the problems."""
    results.miss(folder.row.path)
    row = results.attempt(folder.checked_row)
    if row is None:
        return None
    variant = NAMES[folder.variant]
    if row.status == "failed":
        results.problems.append(f"{variant.printed} failed: {row.error or 'no reason was recorded'}")
    elif row.status == "unfinished":
        results.problems.append(f"{variant.printed} is not finished")
    else:
        results.miss(folder.history.path)
        if results.run.has_test:
            results.miss(folder.metrics.path)
    history = results.attempt(folder.history.read) or []
    return RowResults(variant, folder, row, history, results.attempt(lambda: _metrics(folder, results.run)))


def _metrics(folder: RowFolder, run: Run) -> Metrics | None:
    metrics = folder.metrics.read()
    if metrics and len(metrics.per_class) != len(run.classes):
        raise ValueError(f"{folder.metrics.path} has {len(metrics.per_class)} classes, but the run {len(run.classes)}")
    return metrics


def _read_comparison(folder: RunFolder, run: Run, seeds: Iterable[int]) -> RunResults:
    """The runs of all seeds that can be read, under the description of the comparison."""
    whole, found = RunResults(folder, run), []
    for place in map(folder.seed, seeds):
        name = place.path.name
        if not place.is_begun:
            whole.problems.append(f"{name} has not started")
        elif results := whole.attempt(lambda place=place: _read_run(place), f"{name} was left out: "):  # type: ignore[misc]
            whole.problems += [f"{name}: {problem}" for problem in results.problems]
            found.append(results)
    whole.seeds = tuple(found)
    if found:
        whole.folder, whole.examples, whole.regions = found[0].folder, found[0].examples, found[0].regions
    whole.rows = tuple(row for key in NAMES if (row := _first_measured(key, found)))
    if not whole.rows:
        whole.problems.append("no variant has started yet")
    return whole


def _first_measured(key: str, runs: list[RunResults]) -> RowResults | None:
    """The row of that variant of the first seed that has its figures, or of the first that has it."""
    rows = [row for run in runs if (row := run.row(key))]
    return next((row for row in rows if row.metrics), rows[0] if rows else None)


def mean(values: Iterable[float]) -> float | None:
    """Mean, or None where there is nothing."""
    listed = list(values)
    return statistics.fmean(listed) if listed else None


def deviation(values: Iterable[float]) -> float | None:
    """Sample standard deviation, or None where there are fewer than two values."""
    listed = list(values)
    return statistics.stdev(listed) if len(listed) > 1 else None
