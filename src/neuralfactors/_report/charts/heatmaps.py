"""Tables of label pairs as heat maps: one path for each shade keeps them small, and a script names the cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from neuralfactors._report.charts import svg
from neuralfactors._report.charts.bars import shorten
from neuralfactors._runs.records import Counts, Table

CELL = 20.0
MARGIN = 84.0
SHADES = 12


def confusion_map(confusion: Counts, names: Sequence[str], title: str) -> Markup:
    """Share of each true label (rows) that was predicted as each label (columns); numbers from 10 % up."""
    shares = row_shares(confusion)
    shades = np.rint(np.sqrt(shares) * SHADES).astype(int)  # the square root lets small confusions be seen
    numbers = [
        svg.text(*_middle(i, j), svg.percent(shares[i, j], 0), _on(shades[i, j]), "middle")
        for i, j in zip(*np.nonzero(shares >= 0.095), strict=True)
    ]
    return _heat_map({"seq": shades}, names, title, numbers, ("predicted", "true"))


def interaction_map(table: Table, names: Sequence[str], title: str) -> Markup:
    """Score of each pair of labels about the mean of all; + and − mark the strongest, so that hue is not needed."""
    centred = table - table.mean()
    relative = centred / (np.abs(centred).max() or 1.0)
    shades = np.rint(np.abs(relative) * SHADES).astype(int)
    signs = [
        svg.text(*_middle(i, j), "+" if relative[i, j] > 0 else svg.MINUS, _on(shades[i, j]), "middle")
        for i, j in zip(*np.nonzero(np.abs(relative) > 0.35), strict=True)
    ]
    layers = {"high": np.where(centred > 0, shades, 0), "low": np.where(centred < 0, shades, 0)}
    return _heat_map(layers, names, title, signs, ("lower region", "upper region"))


def row_shares(confusion: Counts) -> Table:
    """Each row as shares of its sum; zeros where a label does not occur."""
    total = confusion.sum(axis=1, keepdims=True)
    shares: Table = np.divide(confusion, total, out=np.zeros(confusion.shape), where=total > 0)
    return shares


def largest_confusions(confusion: Counts, names: Sequence[str], most: int = 6) -> list[tuple[str, str, float]]:
    """(true, predicted, share) of the largest entries off the diagonal by count."""
    counts = confusion.copy()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:most]
    shares = row_shares(confusion)
    pairs = [divmod(int(place), len(names)) for place in order]
    return [(names[i], names[j], float(shares[i, j])) for i, j in pairs if counts[i, j] > 0]


def _heat_map(
    layers: dict[str, NDArray[np.int_]],
    names: Sequence[str],
    title: str,
    numbers: list[Markup],
    axes: tuple[str, str],
) -> Markup:
    """The squares of a matrix, in layers of one colour each, with numbers and the names of classes along its sides."""
    n, size = len(names), CELL * len(names)
    drawn = [svg.tag("rect", x=MARGIN, y=MARGIN, width=size, height=size, class_="heat-ground")]
    for class_, shades in layers.items():
        for shade in range(1, SHADES + 1):
            corners = MARGIN + CELL * np.argwhere(shades == shade)
            path = "".join(f"M{x:g} {y:g}h{CELL:g}v{CELL:g}h-{CELL:g}z" for y, x in corners)
            if path:
                drawn.append(svg.tag("path", d=path, class_=class_, fill_opacity=round(shade / SHADES, 2)))
    for k, name in enumerate(names):
        place = MARGIN + CELL * k + CELL / 2
        label = shorten(name, 12)
        drawn.append(svg.text(MARGIN - 6, place + 4, label, "label small", "end"))
        turned = f"rotate(-90 {place + 4:.0f} {MARGIN - 6:.0f})"
        drawn.append(svg.text(place + 4, MARGIN - 6, label, "label small", transform=turned))
    drawn += numbers
    drawn.append(svg.text(0, 12, f"↓ {axes[1]}", "tick"))
    drawn.append(svg.text(0, 27, f"→ {axes[0]}", "tick"))
    drawn.append(svg.tag("rect", width=CELL, height=CELL, class_="heat-cursor", visibility="hidden"))
    grid = f"{MARGIN:g} {CELL:g} {n}"
    width = MARGIN + size + 2
    figure = svg.picture(width, width, title, drawn, "heat")
    style = f"--natural: {width:g}px"  # few labels are not blown up, and many stay legible on a phone
    return svg.tag(
        "div", figure, class_="heat-frame", style=style, data_grid=grid, tabindex=0, role="group", aria_label=title
    )


def _on(shade: int) -> str:
    return "cell strong" if shade > 0.6 * SHADES else "cell"


def _middle(i: int, j: int) -> tuple[float, float]:
    return MARGIN + CELL * j + CELL / 2, MARGIN + CELL * i + CELL / 2 + 3.6
