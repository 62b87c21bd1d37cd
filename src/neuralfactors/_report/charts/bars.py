"""Figures made of bars: rows beside the paper, classes, synergy of the factors, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from neuralfactors._report.charts import svg
from neuralfactors._report.published import Figures
from neuralfactors._report.results import RowResults
from neuralfactors._report.tables import Cell, Line, part_accuracy
from neuralfactors._runs import NAMES, ClassInfo

WIDTH = 420.0
PARTS = (("unary", "unary only"), ("interaction", "interactions only"), ("joint", "both"))
MEASURES = (("pixel", "Pixel accuracy"), ("class_mean", "Class-mean accuracy"))


def rows_beside_paper(lines: Sequence[Line], measure: str, title: str) -> Markup:
    """One line a row: a bar for ours, a whisker for its spread over seeds, a hollow diamond for the paper's figure."""
    left, right, pitch = svg.room_for((NAMES[line.variant].printed for line in lines), 66.0) + 8, WIDTH - 44.0, 30.0
    height = 14 + pitch * len(lines) + 22
    x = svg.linear(0, 1, left, right)
    drawn = _percent_axis(x, 8, height - 20)
    for n, line in enumerate(lines):
        y, variant = 14 + pitch * n, NAMES[line.variant]
        cell: Cell = getattr(line, measure)
        told = f"{variant.printed}: {svg.percent(cell.ours)}{svg.plus_minus(cell.spread)} %"
        told += f", paper {svg.percent(cell.paper)} %" if cell.paper else ""
        drawn.append(svg.text(left - 8, y + 14, variant.printed, "label", "end"))
        if cell.ours is not None:
            drawn.append(svg.bar(left, y + 3, x(cell.ours) - left, 15, f"bar {variant.training}"))
            if cell.spread:
                drawn.append(_whisker(x(cell.ours - cell.spread), x(cell.ours + cell.spread), y + 10.5))
        if cell.paper is not None:
            drawn.append(svg.tag("path", d="M0-6L6 0L0 6L-6 0Z", class_="paper-mark", **_at(x(cell.paper), y + 10.5)))
        end = max((cell.ours or 0.0) + (cell.spread or 0.0), cell.paper or 0.0)
        drawn.append(svg.text(x(end) + 9, y + 14.5, svg.percent(cell.ours), "value"))
        drawn.append(svg.tag("rect", svg.tag("title", told), x=0, y=y, width=WIDTH, height=pitch, class_="catch"))
    return svg.picture(WIDTH, height, title, drawn)


def class_bars(classes: Sequence[ClassInfo], row: RowResults, paper: Figures | None) -> Markup:
    """One bar a class, with the paper's figure as a hollow diamond."""
    left, right, pitch = 92.0, WIDTH - 40.0, 21.0
    height = 10 + pitch * len(classes) + 20
    x = svg.linear(0, 1, left, right)
    drawn = _percent_axis(x, 6, height - 18)
    values = row.metrics.per_class if row.metrics else (None,) * len(classes)
    for n, (info, ours) in enumerate(zip(classes, values, strict=True)):
        y = 8 + pitch * n
        theirs = paper.per_class.get(info.name.lower()) if paper else None
        drawn.append(svg.text(left - 8, y + 13.5, shorten(info.name, 14), "label small", "end"))
        if ours is not None:
            drawn.append(svg.bar(left, y + 3.5, x(ours) - left, 13, "bar plain"))
        if theirs is not None:
            drawn.append(svg.tag("path", d="M0-5L5 0L0 5L-5 0Z", class_="paper-mark", **_at(x(theirs), y + 10)))
        end = max(value for value in (ours, theirs, 0.0) if value is not None)
        drawn.append(svg.text(x(end) + 8, y + 13.5, "absent" if ours is None else svg.percent(ours, 0), "value small"))
        told = f"{info.name}: {svg.percent(ours)} %"
        told += "" if theirs is None else f", paper {svg.percent(theirs, 0)} %"
        drawn.append(svg.tag("rect", svg.tag("title", told), x=0, y=y, width=WIDTH, height=pitch, class_="catch"))
    return svg.picture(WIDTH, height, f"Accuracy of {row.variant.printed} for each class, in percent", drawn)


def synergy(rows: Sequence[RowResults], measure: str, title: str) -> Markup:
    """Three bars a row: with the unary factors only, with the interaction factors only, with both."""
    left, right, pitch = 112.0, WIDTH - 40.0, 76.0
    height = 8 + pitch * len(rows) + 18
    x = svg.linear(0, 1, left, right)
    drawn = _percent_axis(x, 6, height - 20)
    for n, row in enumerate(rows):
        top = 8 + pitch * n
        drawn.append(svg.text(0, top + 12, row.variant.printed, "label strong"))
        for k, (part, name) in enumerate(PARTS):
            y = top + 17 + 17 * k
            value = getattr(part_accuracy(row.metrics, part), measure)
            drawn.append(svg.text(left - 8, y + 11, name, "label small", "end"))
            if value is not None:
                drawn.append(svg.bar(left, y + 1, x(value) - left, 13, f"bar part-{part}"))
            drawn.append(svg.text(x(value or 0.0) + 6, y + 11.5, svg.percent(value), "value small"))
    return svg.picture(WIDTH, height, title, drawn)


def seconds_by_part(rows: Sequence[RowResults]) -> tuple[Markup | None, list[str]]:
    """One stacked bar a row, the mean seconds of an epoch by part, and the names of the parts in order."""
    means = {row.variant.printed: mean for row in rows if (mean := mean_seconds(row))}
    parts = list(dict.fromkeys(part for mean in means.values() for part in mean))
    if not means:
        return None, []
    left, right, pitch = svg.room_for(means, 66.0) + 8, WIDTH - 50.0, 27.0
    height = 8 + pitch * len(means) + 20
    stops = svg.ticks(0, max(sum(mean.values()) for mean in means.values()), 4)
    x = svg.linear(0, stops[-1], left, right)
    drawn = _axis(x, {stop: f"{stop:g} s" for stop in stops}, 6, height - 18)
    for n, (name, mean) in enumerate(means.items()):
        y, reached = 8 + pitch * n, 0.0
        drawn.append(svg.text(left - 8, y + 15, name, "label", "end"))
        for part, seconds in mean.items():
            shade = f"bar time-{parts.index(part) % 6}"
            piece = svg.bar(x(reached), y + 4, x(reached + seconds) - x(reached), 15, shade)
            drawn.append(svg.tag("g", svg.tag("title", f"{name}, {part}: {svg.short(seconds)} s"), piece))
            reached += seconds
        drawn.append(svg.text(x(reached) + 6, y + 15.5, f"{svg.short(reached)} s", "value small"))
    return svg.picture(WIDTH, height, "Mean seconds per epoch, by part", drawn), parts


def mean_seconds(row: RowResults) -> dict[str, float]:
    """Mean seconds per epoch, by part, from the history of a row."""
    total: dict[str, float] = {}
    for epoch in row.history:
        for part, seconds in epoch.seconds.items():
            if part != "total":
                total[part] = total.get(part, 0.0) + seconds
    return {part: seconds / len(row.history) for part, seconds in total.items()}


def shorten(name: str, most: int) -> str:
    """`name`, or its beginning with an ellipsis where it is longer than `most` characters."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _percent_axis(x: svg.Scale, top: float, bottom: float) -> list[Markup]:
    return _axis(x, {share / 100: str(share) for share in range(0, 101, 20)}, top, bottom)


def _axis(x: svg.Scale, stops: Mapping[float, str], top: float, bottom: float) -> list[Markup]:
    """Lines at the stops, and what stands below them."""
    lines = [svg.line(x(stop), top, x(stop), bottom, "grid" if n else "axis") for n, stop in enumerate(stops)]
    return lines + [svg.text(x(stop), bottom + 15, told, "tick", "middle") for stop, told in stops.items()]


def _whisker(start: float, end: float, y: float) -> Markup:
    ends = f"M{start:.1f} {y - 4:.1f}V{y + 4:.1f}M{end:.1f} {y - 4:.1f}V{y + 4:.1f}"
    return svg.tag("path", d=f"M{start:.1f} {y:.1f}H{end:.1f}{ends}", class_="whisker")


def _at(x: float, y: float) -> dict[str, object]:
    return {"transform": f"translate({x:.1f} {y:.1f})"}
