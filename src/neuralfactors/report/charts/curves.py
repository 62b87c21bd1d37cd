"""Learning curves: one panel a quantity, one line a row, told apart by colour, dashes, marks and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from neuralfactors.report.charts import svg
from neuralfactors.report.run import Row, number

WIDTH, HEIGHT = 440.0, 270.0
LEFT, TOP, BOTTOM = 46.0, 12.0, 236.0
MOST_POINTS = 240  # more than one a pixel shows nothing

QUANTITIES = (
    ("objective", "Objective", "regulariser + C × mean hinge; lower is better"),
    ("hinge", "Structured hinge", "mean over the graphs; lower is better"),
    ("gap", "Inference gap", "how far the hinge may be too low because inference is approximate"),
    ("accuracy", "Validation accuracy", "share of the regions of validation images that are right, in percent"),
)


@dataclass(frozen=True)
class Series:
    """The curve of one row."""

    row: Row
    slot: int  # which colour, dashes and mark
    epochs: list[float]
    values: list[float]


def panels(rows: Sequence[Row], slots: dict[str, int]) -> list[dict[str, object]]:
    """Name, explanation and figure of each quantity; no figure where no row recorded it."""
    return [
        {"key": key, "name": name, "note": note, "figure": _panel(_all_series(rows, slots, key), key, name)}
        for key, name, note in QUANTITIES
    ]


def _all_series(rows: Sequence[Row], slots: dict[str, int], key: str) -> list[Series]:
    found = [Series(row, slots[row.folder], *_curve(row, key)) for row in rows]
    return [series for series in found if series.values]


def _curve(row: Row, key: str) -> tuple[list[float], list[float]]:
    points = []
    for place, record in enumerate(row.history, start=1):
        value = _validation(record) if key == "accuracy" else number(record.get(key))
        if value is not None:
            points.append((number(record.get("epoch")) or float(place), value))
    if key == "accuracy" and points and max(value for _, value in points) <= 1.0:
        points = [(epoch, 100.0 * value) for epoch, value in points]  # recorded as shares
    if len(points) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).astype(int))
        points = [points[index] for index in kept]
    return [epoch for epoch, _ in points], [value for _, value in points]


def _validation(record: dict[str, object]) -> float | None:
    # Estimators call the accuracy on validation data "accuracy"; a run that also has that on training data says which.
    return number(record["val_accuracy"]) if "val_accuracy" in record else number(record.get("accuracy"))


def _panel(all_series: list[Series], key: str, name: str) -> Markup | None:
    if not all_series:
        return None
    values = [value for series in all_series for value in series.values]
    low, high = min(values), max(values)
    if key == "accuracy" and low == high:
        low = max(high - 1.0, 0.0)  # room below a level line: there is none above 100 %
    wide = key != "accuracy" and low > 0 and high / low > 40
    stops = _powers(low, high) if wide else svg.ticks(min(low, 0.0) if key in ("hinge", "gap") else low, high, 5)
    make = svg.logarithmic if wide else svg.linear
    y = make(stops[0], stops[-1], BOTTOM, TOP)
    last = max(max(series.epochs) for series in all_series)
    right = WIDTH - 11 - svg.room_for((series.row.name for series in all_series), 59.0)
    x = svg.linear(0, last, LEFT, right)
    drawn = [svg.line(LEFT, y(stop), right, y(stop), "grid") for stop in stops]
    drawn += [svg.text(LEFT - 6, y(stop) + 4, svg.short(stop), "tick", "end") for stop in stops]
    epochs = [stop for stop in svg.ticks(0, last, 4) if stop <= last * 1.02]
    drawn += [svg.text(x(stop), BOTTOM + 16, f"{stop:g}", "tick", "middle") for stop in epochs]
    drawn.append(svg.text(right, BOTTOM + 30, "epoch" + (", logarithmic height" if wide else ""), "tick", "end"))
    places = svg.spread([y(series.values[-1]) for series in all_series], 13.0, TOP + 4, BOTTOM)
    drawn += [_draw(series, x, y, right, place) for series, place in zip(all_series, places, strict=True)]
    return svg.picture(WIDTH, HEIGHT, f"{name} over the epochs of {', '.join(s.row.name for s in all_series)}", drawn)


def _draw(series: Series, x: svg.Scale, y: svg.Scale, right: float, label_at: float) -> Markup:
    points = [(x(epoch), y(value)) for epoch, value in zip(series.epochs, series.values, strict=True)]
    path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
    marked = np.unique(np.linspace(0, len(points) - 1, min(5, len(points))).astype(int))
    end = points[-1]
    return svg.tag(
        "g",
        svg.tag("title", f"{series.row.name}: {svg.short(series.values[-1])} at the end"),
        svg.tag("path", d=path, class_="curve", stroke_dasharray=svg.DASHES[series.slot % 8] or None),
        *(svg.mark(points[index][0], points[index][1], series.slot) for index in marked),
        svg.line(end[0] + 4, end[1], right + 8, label_at, "leader"),
        svg.text(right + 11, label_at + 4, series.row.name, "series-name"),
        class_=f"series slot-{series.slot}",
        data_series=series.row.folder,
    )


def _powers(low: float, high: float) -> list[float]:
    """Round values about low..high for a logarithmic axis: 1, 2 and 5 of each power of ten, or the powers only."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        stops = [digit * 10.0**power for power in powers for digit in digits]
        first = max(n for n, stop in enumerate(stops) if stop <= low * (1 + 1e-9))
        last = min((n for n, stop in enumerate(stops) if stop >= high * (1 - 1e-9)), default=len(stops) - 1)
        if last - first < 7:
            break
    return stops[first : last + 1]
