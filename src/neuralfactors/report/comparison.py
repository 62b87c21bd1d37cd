"""Ours beside the paper's: the cells of the tables, and whether the paper's findings hold in this run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuralfactors.report import svg
from neuralfactors.report.published import VARIANTS, Figures, Published
from neuralfactors.report.run import Row, Run, deviation, mean

STRONG = 10.0  # points of difference that are shaded fully


@dataclass(frozen=True)
class Cell:
    """A figure of ours and the paper's, in percent; None where there is none."""

    ours: float | None  # the mean over the seeds
    paper: float | None = None
    spread: float | None = None  # the standard deviation over the seeds; None where there is one only

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper

    @property
    def verdict(self) -> str:
        """A class for the style sheet: better, worse, same, or empty where there is nothing to compare."""
        if self.difference is None:
            return ""
        rounded = round(self.difference, 1)
        return "better" if rounded > 0 else "worse" if rounded < 0 else "same"

    @property
    def strength(self) -> float:
        """How deeply the difference is shaded, from 0 to 1."""
        return round(min(1.0, abs(self.difference or 0.0) / STRONG), 2)


@dataclass(frozen=True)
class Line:
    """One line of the table of rows; `row` is None where only the paper has it."""

    folder: str
    name: str
    training: str
    description: str
    row: Row | None
    pixel: Cell
    class_mean: Cell


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, with the differences that decide it here and those in the paper."""

    claim: str
    verdict: str  # "holds", "holds in part", "does not hold", "not measured"
    ours: str
    paper: str


def lines(run: Run, paper: Published) -> list[Line]:
    """The rows of the run and, for a comparison with a preset, those that only the paper has; in the paper's order."""
    known = {variant.folder: variant for variant in VARIANTS}
    wanted = [folder for folder in known if run.row(folder) or folder in paper.rows]
    others = [row.folder for row in run.rows if row.folder not in known]
    found = []
    for folder in wanted + others:
        row, source = run.row(folder), known.get(folder) or run.row(folder)
        figures = paper.rows.get(folder)
        assert source is not None
        cells = (_cell(run.by_seed(folder, key), getattr(figures, key, None)) for key in ("pixel", "class_mean"))
        found.append(Line(folder, source.name, source.training, source.description, row, *cells))
    return found


def _cell(by_seed: dict[int, float], paper: float | None) -> Cell:
    return Cell(mean(by_seed.values()), paper, deviation(by_seed.values()))


def class_cells(run: Run, paper: Published, rows: Sequence[Row]) -> list[tuple[str, list[Cell]]]:
    """(class, one cell a row) for each class."""
    table = []
    for label, info in enumerate(run.classes):
        cells = []
        for row in rows:
            ours = row.metrics.per_class[label] if row.metrics else None
            figures = paper.rows.get(row.folder)
            cells.append(Cell(ours, figures.per_class.get(info.name.lower()) if figures else None))
        table.append((info.name, cells))
    return table


def literature(run: Run, paper: Published) -> list[tuple[str, Figures | None, float, float]]:
    """(name, figures or None for ours, pixel, class mean) of the state-of-the-art table, best first."""
    if not paper.others:
        return []
    table: list[tuple[str, Figures | None, float, float]] = [
        (name, figures, figures.pixel, figures.class_mean) for name, figures in paper.others.items()
    ]
    theirs = paper.rows.get("neural-factors")
    if theirs:
        table.append(("Houthooft & De Turck (the paper)", theirs, theirs.pixel, theirs.class_mean))
    best = best_row(run)
    if best and best.metrics:
        table.append((f"this run, {best.name}", None, best.metrics.pixel or 0.0, best.metrics.class_mean or 0.0))
    return sorted(table, key=lambda entry: -entry[2])


def best_row(run: Run) -> Row | None:
    """The row with the highest pixel accuracy."""
    measured = [(row.metrics.pixel, row) for row in run.rows if row.metrics and row.metrics.pixel is not None]
    return max(measured, key=lambda entry: entry[0])[1] if measured else None


def findings(run: Run, paper: Published) -> list[Finding]:
    """The paper's claims, each decided by the figures of this run."""
    pairs = (
        ("Integrated training beats bifurcated, with neural interactions", "int+nrl", "bif+nrl"),
        ("Integrated training beats bifurcated, with linear interactions", "int+lin", "SGD"),
        ("Neural interactions beat linear ones, trained integrated", "int+nrl", "int+lin"),
        ("Neural interactions beat linear ones, trained bifurcated", "bif+nrl", "SGD"),
    )
    found = [_compare(claim, better, worse, run, paper) for claim, better, worse in pairs]
    return [*found, *(_synergy(row) for row in run.rows if row.folder in ("int+nrl", "bif+nrl"))]


def _compare(claim: str, better: str, worse: str, run: Run, paper: Published) -> Finding:
    ours = _gains(_figures(run.row(better)), _figures(run.row(worse)))
    theirs = _gains(_figures(paper.rows.get(better)), _figures(paper.rows.get(worse)))
    names = {variant.folder: variant.name for variant in VARIANTS}
    title = f"{claim} ({names[better]} against {names[worse]})"
    return Finding(title, _verdict(ours), _points(ours), _points(theirs))


def _synergy(row: Row) -> Finding:
    ablation = row.metrics.ablation if row.metrics else {}
    gains: list[float | None] = []
    for key in ("pixel", "class_mean"):
        joint, *alone = (ablation.get(part, {}).get(key) for part in ("joint", "unary", "interaction"))
        known = [value for value in alone if value is not None]
        gains.append(joint - max(known) if joint is not None and len(known) == 2 else None)
    claim = f"The two kinds of factors of {row.name} do better together than the better kind alone"
    return Finding(claim, _verdict(gains), _points(gains), "–")


def _figures(source: Row | Figures | None) -> list[float | None]:
    values = source.metrics if isinstance(source, Row) else source
    return [getattr(values, key, None) for key in ("pixel", "class_mean")]


def _gains(better: list[float | None], worse: list[float | None]) -> list[float | None]:
    return [None if a is None or b is None else a - b for a, b in zip(better, worse, strict=True)]


def _verdict(gains: list[float | None]) -> str:
    known = [gain for gain in gains if gain is not None]
    if not known:
        return "not measured"
    wins = sum(gain > 0 for gain in known)
    return "holds" if wins == len(known) else "holds in part" if wins else "does not hold"


def _points(gains: list[float | None]) -> str:
    return " / ".join(map(svg.signed, gains)) if any(gain is not None for gain in gains) else "–"
