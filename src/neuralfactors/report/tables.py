"""Ours beside the paper's: the cells of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuralfactors.report.published import VARIANTS, Figures, Published
from neuralfactors.report.run import ACCURACIES, Metrics, Row, Run, deviation, mean, number

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
    mean_iou: Cell
    subset: str = ""  # of the training images that it learnt from, where that is not all of them


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
        pixel, class_mean, mean_iou = (
            _cell(run.by_seed(folder, key), getattr(figures, key, None)) for key in ACCURACIES
        )
        described = (folder, source.name, source.training, source.description)
        found.append(Line(*described, row, pixel, class_mean, mean_iou, _subset(run, row)))
    return found


def evaluated_on(run: Run) -> str:
    """A sentence about the images that the figures are of; empty where nothing was evaluated."""
    groups: dict[str, list[str]] = {}
    for row in run.rows:
        if row.metrics:
            groups.setdefault(_told_images(row.metrics), []).append(row.name)
    if len(groups) < 2:
        return "".join(f"The rows were evaluated on {images}." for images in groups)
    told = "; ".join(f"{', '.join(names)} on {images}" for images, names in groups.items())
    return f"The rows were not evaluated on the same images: {told}."


def _told_images(metrics: Metrics) -> str:
    number_of = {None: "images", 1: "1 image"}.get(metrics.n_images, f"{metrics.n_images} images")
    return f"{number_of} of {f'the split {metrics.split}' if metrics.split else 'a split that was not recorded'}"


def _subset(run: Run, row: Row | None) -> str:
    used = row.number("n_train") if row else None
    there = training_images(run)
    return f"{used:.0f} of {there:.0f} training images" if used and there and used < there else ""


def training_images(run: Run) -> float | None:
    """How many images the run could learn from."""
    settings = run.table("settings")
    split = "rest" if settings.get("holdout") else settings.get("train_split")
    return number(run.table("splits").get(split)) if isinstance(split, str) else None


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
    if best:
        pixel, class_mean = (mean(run.by_seed(best.folder, key).values()) for key in ("pixel", "class_mean"))
        table.append((f"this run, {best.name}", None, pixel or 0.0, class_mean or 0.0))
    return sorted(table, key=lambda entry: -entry[2])


def best_row(run: Run) -> Row | None:
    """The row with the highest pixel accuracy, on average over the seeds."""
    means = [(mean(run.by_seed(row.folder, "pixel").values()), row) for row in run.rows]
    measured = [(pixel, row) for pixel, row in means if pixel is not None]
    return max(measured, key=lambda entry: entry[0])[1] if measured else None
