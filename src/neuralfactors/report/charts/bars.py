"""Figures made of bars: rows beside the paper, classes, synergy of the factors, seconds."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from neuralfactors.report.charts import svg
from neuralfactors.report.published import Figures
from neuralfactors.report.run import Row, Run
from neuralfactors.report.tables import Cell, Line

WIDTH = 420.0
PARTS = (("unary", "unary only"), ("interaction", "interactions only"), ("joint", "both"))
MEASURES = (("pixel", "Pixel accuracy"), ("class_mean", "Class-mean accuracy"))


def rows_beside_paper(lines: Sequence[Line], measure: str, title: str) -> Markup:
    """One line a row: a bar for ours, a whisker for its spread over seeds, a hollow diamond for the paper's figure."""
    left, right, pitch = svg.room_for((line.name for line in lines), 66.0) + 8, WIDTH - 44.0, 30.0
    height = 14 + pitch * len(lines) + 22
    x = svg.linear(0, 100, left, right)
    drawn = _percent_axis(x, 8, height - 20)
    for n, line in enumerate(lines):
        y = 14 + pitch * n
        cell: Cell = getattr(line, measure)
        spread = "" if cell.spread is None else f" ± {cell.spread:.1f}"
        told = f"{line.name}: {svg.percent(cell.ours)}{spread} %"
        told += f", paper {svg.percent(cell.paper)} %" if cell.paper else ""
        drawn.append(svg.text(left - 8, y + 14, line.name, "label", "end"))
        if cell.ours is not None:
            drawn.append(svg.bar(left, y + 3, x(cell.ours) - left, 15, f"bar {line.training or 'other'}"))
            if cell.spread:
                drawn.append(_whisker(x(cell.ours - cell.spread), x(cell.ours + cell.spread), y + 10.5))
        if cell.paper is not None:
            drawn.append(svg.tag("path", d="M0-6L6 0L0 6L-6 0Z", class_="paper-mark", **_at(x(cell.paper), y + 10.5)))
        end = max((cell.ours or 0.0) + (cell.spread or 0.0), cell.paper or 0.0)
        drawn.append(svg.text(x(end) + 9, y + 14.5, svg.percent(cell.ours), "value"))
        drawn.append(svg.tag("rect", svg.tag("title", told), x=0, y=y, width=WIDTH, height=pitch, class_="catch"))
    return svg.picture(WIDTH, height, title, drawn)


def class_bars(run: Run, row: Row, paper: Figures | None) -> Markup:
    """One bar a class, with the paper's figure as a hollow diamond."""
    left, right, pitch = 92.0, WIDTH - 40.0, 21.0
    height = 10 + pitch * len(run.classes) + 20
    x = svg.linear(0, 100, left, right)
    drawn = _percent_axis(x, 6, height - 18)
    values = row.metrics.per_class if row.metrics else ()
    for n, (info, ours) in enumerate(zip(run.classes, values, strict=True)):
        y = 8 + pitch * n
        theirs = paper.per_class.get(info.name.lower()) if paper else None
        drawn.append(svg.text(left - 8, y + 13.5, shorten(info.name, 14), "label small", "end"))
        if ours is not None:
            drawn.append(svg.bar(left, y + 3.5, x(ours) - left, 13, "bar plain"))
        if theirs is not None:
            drawn.append(svg.tag("path", d="M0-5L5 0L0 5L-5 0Z", class_="paper-mark", **_at(x(theirs), y + 10)))
        end = max(value for value in (ours, theirs, 0.0) if value is not None)
        drawn.append(svg.text(x(end) + 8, y + 13.5, "absent" if ours is None else f"{ours:.0f}", "value small"))
        told = f"{info.name}: {svg.percent(ours)} %" + (f", paper {theirs:.0f} %" if theirs is not None else "")
        drawn.append(svg.tag("rect", svg.tag("title", told), x=0, y=y, width=WIDTH, height=pitch, class_="catch"))
    return svg.picture(WIDTH, height, f"Accuracy of {row.name} for each class, in percent", drawn)


def synergy(rows: Sequence[Row], measure: str, title: str) -> Markup:
    """Three bars a row: with the unary factors only, with the interaction factors only, with both."""
    left, right, pitch = 112.0, WIDTH - 40.0, 76.0
    height = 8 + pitch * len(rows) + 18
    x = svg.linear(0, 100, left, right)
    drawn = _percent_axis(x, 6, height - 20)
    for n, row in enumerate(rows):
        top = 8 + pitch * n
        drawn.append(svg.text(0, top + 12, row.name, "label strong"))
        ablation = row.metrics.ablation if row.metrics else {}
        for k, (part, name) in enumerate(PARTS):
            y = top + 17 + 17 * k
            value = ablation.get(part, {}).get(measure)
            drawn.append(svg.text(left - 8, y + 11, name, "label small", "end"))
            if value is not None:
                drawn.append(svg.bar(left, y + 1, x(value) - left, 13, f"bar part-{part}"))
            drawn.append(svg.text(x(value or 0.0) + 6, y + 11.5, svg.percent(value), "value small"))
    return svg.picture(WIDTH, height, title, drawn)


def seconds_by_part(rows: Sequence[Row]) -> tuple[Markup | None, list[str]]:
    """One stacked bar a row, the mean seconds of an epoch by part, and the names of the parts in order."""
    means = {row.folder: mean_seconds(row) for row in rows}
    parts = list(dict.fromkeys(part for mean in means.values() for part in mean))
    shown = [row for row in rows if means[row.folder]]
    if not shown:
        return None, []
    left, right, pitch = svg.room_for((row.name for row in shown), 66.0) + 8, WIDTH - 50.0, 27.0
    height = 8 + pitch * len(shown) + 20
    stops = svg.ticks(0, max(sum(means[row.folder].values()) for row in shown), 4)
    x = svg.linear(0, stops[-1], left, right)
    drawn = _axis(x, stops, 6, height - 18, " s")
    for n, row in enumerate(shown):
        y, reached = 8 + pitch * n, 0.0
        drawn.append(svg.text(left - 8, y + 15, row.name, "label", "end"))
        for part, seconds in means[row.folder].items():
            shade = f"bar time-{parts.index(part) % 6}"
            piece = svg.bar(x(reached), y + 4, x(reached + seconds) - x(reached), 15, shade)
            drawn.append(svg.tag("g", svg.tag("title", f"{row.name}, {part}: {svg.short(seconds)} s"), piece))
            reached += seconds
        drawn.append(svg.text(x(reached) + 6, y + 15.5, f"{svg.short(reached)} s", "value small"))
    return svg.picture(WIDTH, height, "Mean seconds of an epoch by part", drawn), parts


def mean_seconds(row: Row) -> dict[str, float]:
    """Mean seconds of an epoch by part, from the history of a row."""
    records = [record["seconds"] for record in row.history if isinstance(record.get("seconds"), dict)]
    total: dict[str, float] = {}
    for record in records:
        for part, seconds in record.items():
            if part != "total" and isinstance(seconds, int | float):
                total[str(part)] = total.get(str(part), 0.0) + max(0.0, float(seconds))
    return {part: seconds / len(records) for part, seconds in total.items()}


def shorten(name: str, most: int) -> str:
    """`name`, or its beginning with an ellipsis where it is longer than `most` characters."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _percent_axis(x: svg.Scale, top: float, bottom: float) -> list[Markup]:
    return _axis(x, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0], top, bottom, "")


def _axis(x: svg.Scale, stops: Sequence[float], top: float, bottom: float, unit: str) -> list[Markup]:
    lines = [svg.line(x(stop), top, x(stop), bottom, "grid" if n else "axis") for n, stop in enumerate(stops)]
    return lines + [svg.text(x(stop), bottom + 15, f"{stop:g}{unit}", "tick", "middle") for stop in stops]


def _whisker(start: float, end: float, y: float) -> Markup:
    ends = f"M{start:.1f} {y - 4:.1f}V{y + 4:.1f}M{end:.1f} {y - 4:.1f}V{y + 4:.1f}"
    return svg.tag("path", d=f"M{start:.1f} {y:.1f}H{end:.1f}{ends}", class_="whisker")


def _at(x: float, y: float) -> dict[str, object]:
    return {"transform": f"translate({x:.1f} {y:.1f})"}
