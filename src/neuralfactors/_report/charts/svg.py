"""Small pieces of inline SVG; colours come from the page's style sheet, so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup, escape

MINUS = "\N{MINUS SIGN}"
LETTER = 7.0  # width of a letter in a label, of 12 pixels, at most on average
Scale = Callable[[float], float]

# Each row has a line style and a mark of its own beside its colour, so that no reader depends on hue.
DASHES = ("1 3", "7 3", "2 2", "10 3 2 3", "5 2 1 2", "", "6 2 2 2 2 2", "12 3")
MARKS = (
    "M0-3A3 3 0 1 1 0 3A3 3 0 1 1 0-3Z",
    "M-2.6-2.6H2.6V2.6H-2.6Z",
    "M0-3.4L3.2 2.4H-3.2Z",
    "M0-3.8L3.8 0L0 3.8L-3.8 0Z",
    "M0 3.4L3.2-2.4H-3.2Z",
    "M0-4L1.2-1.2H4L1.7.7L2.5 3.6L0 1.9L-2.5 3.6L-1.7.7L-4-1.2H-1.2Z",
    "M-3-1H-1V-3H1V-1H3V1H1V3H-1V1H-3Z",
    "M-3.2-1.8L0-3.6L3.2-1.8V1.8L0 3.6L-3.2 1.8Z",
)


def tag(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """The element `name`; `_` in the name of an attribute is `-`, `class_` is `class`, and None leaves it out."""
    written = [
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value))
        for key, value in attributes.items()
        if value is not None
    ]
    return Markup("<{0}{1}>{2}</{0}>").format(name, Markup("").join(written), Markup("").join(map(escape, children)))


def picture(width: float, height: float, title: str, children: Iterable[Markup], class_: str = "chart") -> Markup:
    """An `svg` that scales to its place, with `title` as its accessible name."""
    return tag(
        "svg", *children, class_=class_, role="img", aria_label=title, viewBox=f"0 0 {_plain(width)} {_plain(height)}"
    )


def text(x: float, y: float, value: str, class_: str = "", anchor: str = "start", **more: object) -> Markup:
    """A line of text; `y` is its baseline."""
    anchored = None if anchor == "start" else anchor
    return tag("text", value, x=x, y=y, class_=class_ or None, text_anchor=anchored, **more)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return tag("path", d=f"M{_plain(x1)} {_plain(y1)}L{_plain(x2)} {_plain(y2)}", class_=class_)


def bar(x: float, y: float, width: float, height: float, class_: str) -> Markup:
    """A bar from `x` to the right."""
    return tag("rect", x=x, y=y, width=max(0.0, width), height=height, class_=class_)


def mark(x: float, y: float, slot: int, class_: str = "mark") -> Markup:
    """The mark of the row in place `slot`."""
    return tag("path", d=MARKS[slot % len(MARKS)], class_=class_, transform=f"translate({_plain(x)} {_plain(y)})")


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """The map from the values low..high to the places start..end."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """The same on a logarithmic axis."""
    straight = linear(math.log10(low), math.log10(high), start, end)
    return lambda value: straight(math.log10(value))


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About so many round values that span low..high."""
    if not high > low:
        high = low + (abs(low) or 1.0)
    raw = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(nice for nice in (1, 2, 2.5, 5, 10) if nice * power >= raw * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def room_for(names: Iterable[str], least: float) -> float:
    """Width that the longest of `names` needs as a label, at `least` so much."""
    return max([least, *(LETTER * len(name) for name in names)])


def percent(share: float | None, decimals: int = 1) -> str:
    """A share in percent, or a dash."""
    return "–" if share is None else f"{100 * share:.{decimals}f}"


def plus_minus(spread: float | None) -> str:
    """A standard deviation to stand behind a mean, in points; empty where there is none."""
    return "" if spread is None else f" ± {percent(spread)}"


def signed(difference: float | None) -> str:
    """A difference of shares in points, with its sign, or a dash."""
    if difference is None:
        return "–"
    rounded = round(100 * difference, 1)
    return "±0.0" if rounded == 0 else f"{'+' if rounded > 0 else MINUS}{abs(rounded):.1f}"


def short(value: float | None) -> str:
    """A number in at most four or so characters, or a dash."""
    if value is None:
        return "–"
    value, size = value or 0.0, abs(value)  # not −0
    if size and (size < 0.001 or size >= 1e6):
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    for limit, decimals in ((0.1, 3), (1, 2), (100, 1)):
        if size < limit:
            return f"{value:.{decimals}f}".rstrip("0").rstrip(".").replace("-", MINUS) or "0"
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", MINUS)


def spread(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """The places moved apart to at least `distance`, in the same order, within low..high where they fit."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    for before, index in zip([None, *order], order, strict=False):
        floor = low if before is None else moved[before] + distance
        moved[index] = max(moved[index], floor)
    ceiling = high
    for index in reversed(order):
        moved[index] = min(moved[index], ceiling)
        ceiling = moved[index] - distance
    return moved


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
