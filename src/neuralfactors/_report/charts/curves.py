"""Learning curves: one panel a quantity, one line a row, distinguished by colour, dashes, marks and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from neuralfactors._report.charts import svg
from neuralfactors._report.results import RowResults

WIDTH, HEIGHT = 440.0, 270.0
LEFT, TOP, BOTTOM = 46.0, 12.0, 236.0
MOST_POINTS = 240  # more than one a pixel shows nothing
FAR_APART = 40  # ratio from which an axis is logarithmic


@dataclass(frozen=True)
class Quantity:
    """What a panel shows: a field of `Epoch`."""

    key: str
    name: str
    note: str
    from_zero: bool = False  # whether the axis begins there
    percent: bool = False  # whether it is a share, shown in percent


QUANTITIES = (
    Quantity("objective", "Objective", "regulariser + C × mean hinge; lower is better"),
    Quantity("hinge", "Structured hinge", "mean over the graphs; lower is better", from_zero=True),
    Quantity(
        "gap", "Inference gap", "how far the hinge may be too low because inference is approximate", from_zero=True
    ),
    Quantity(
        "accuracy", "Validation accuracy", "percentage of the regions of validation images that are right",
        percent=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Series:
    """The curve of one row."""

    row: RowResults
    slot: int  # which colour, dashes and mark
    epochs: list[int]
    values: list[float]


@dataclass(frozen=True)
class Axis:
    """Round values of an axis, and where a value stands on it."""

    stops: list[float]
    place: svg.Scale
    logarithmic: bool = False


@dataclass(frozen=True)
class Panel:
    """A quantity and its figure; None where no row recorded it."""

    quantity: Quantity
    figure: Markup | None


def panels(rows: Sequence[RowResults], slots: dict[str, int]) -> list[Panel]:
    """One panel a quantity."""
    return [Panel(quantity, _figure(_all_series(rows, slots, quantity), quantity)) for quantity in QUANTITIES]


def _all_series(rows: Sequence[RowResults], slots: dict[str, int], quantity: Quantity) -> list[Series]:
    found = [Series(row, slots[row.variant.key], *_curve(row, quantity)) for row in rows]
    return [series for series in found if series.values]


def _curve(row: RowResults, quantity: Quantity) -> tuple[list[int], list[float]]:
    unit = 100.0 if quantity.percent else 1.0
    values = [(each.epoch, getattr(each, quantity.key)) for each in row.history]
    points = [(epoch, unit * value) for epoch, value in values if value is not None]
    if len(points) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).astype(int))
        points = [points[index] for index in kept]
    return [epoch for epoch, _ in points], [value for _, value in points]


def _figure(all_series: list[Series], quantity: Quantity) -> Markup | None:
    """A chart of one quantity over the epochs, a curve for each series; None where there is none."""
    if not all_series:
        return None
    names = [series.row.variant.printed for series in all_series]
    height = _height([value for series in all_series for value in series.values], quantity)
    stops, y = height.stops, height.place
    last = max(max(series.epochs) for series in all_series)
    right = WIDTH - 11 - svg.room_for(names, 59.0)
    x = svg.linear(0, last, LEFT, right)
    drawn = [svg.line(LEFT, y(stop), right, y(stop), "grid") for stop in stops]
    drawn += [svg.text(LEFT - 6, y(stop) + 4, svg.short(stop), "tick", "end") for stop in stops]
    epochs = [stop for stop in svg.ticks(0, last, 4) if stop <= last * 1.02]
    drawn += [svg.text(x(stop), BOTTOM + 16, f"{stop:g}", "tick", "middle") for stop in epochs]
    told = "epoch (vertical axis logarithmic)" if height.logarithmic else "epoch"
    drawn.append(svg.text(right, BOTTOM + 30, told, "tick", "end"))
    places = svg.spread([y(series.values[-1]) for series in all_series], 13.0, TOP + 4, BOTTOM)
    drawn += [_draw(series, x, y, right, place) for series, place in zip(all_series, places, strict=True)]
    return svg.picture(WIDTH, HEIGHT, f"{quantity.name} over the epochs of {', '.join(names)}", drawn)


def _height(values: Sequence[float], quantity: Quantity) -> Axis:
    """The axis of the values; logarithmic where they are far apart."""
    low, high = min(values), max(values)
    if quantity.percent and low == high:
        low = max(high - 1.0, 0.0)  # room below a level line: there is none above 100 %
    if not quantity.percent and low > 0 and high / low > FAR_APART:
        stops = _powers(low, high)
        return Axis(stops, svg.logarithmic(stops[0], stops[-1], BOTTOM, TOP), logarithmic=True)
    stops = svg.ticks(min(low, 0.0) if quantity.from_zero else low, high, 5)
    return Axis(stops, svg.linear(stops[0], stops[-1], BOTTOM, TOP))


def _draw(series: Series, x: svg.Scale, y: svg.Scale, right: float, label_at: float) -> Markup:
    """A curve with its marks, and the name of its row at the right."""
    points = [(x(epoch), y(value)) for epoch, value in zip(series.epochs, series.values, strict=True)]
    path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
    marked = np.unique(np.linspace(0, len(points) - 1, min(5, len(points))).astype(int))
    end = points[-1]
    return svg.tag(
        "g",
        svg.tag("title", f"{series.row.variant.printed}: {svg.short(series.values[-1])} at the end"),
        svg.tag("path", d=path, class_="curve", stroke_dasharray=svg.DASHES[series.slot % 8] or None),
        *(svg.mark(points[index][0], points[index][1], series.slot) for index in marked),
        svg.line(end[0] + 4, end[1], right + 8, label_at, "leader"),
        svg.text(right + 11, label_at + 4, series.row.variant.printed, "series-name"),
        class_=f"series slot-{series.slot}",
        data_series=series.row.variant.key,
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
