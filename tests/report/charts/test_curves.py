"""Learning curves: a line a row within its panel, thinned where it is long, logarithmic where values are far apart."""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors._report import read_results
from neuralfactors._report.charts.curves import BOTTOM, HEIGHT, LEFT, TOP, WIDTH, panels
from neuralfactors._report.results import RowResults
from neuralfactors._runs import NAMES, Epoch

SLOTS = {variant: k for k, variant in enumerate(NAMES)}


def row_of(history, variant="SGD"):
    return RowResults(NAMES[variant], None, None, history, None)


def panel(rows, key):
    (found,) = [each.figure for each in panels(rows, SLOTS) if each.quantity.key == key]
    return found


def curves(figure):
    """The points of every line."""
    paths = [e.get("d") for e in ElementTree.fromstring(str(figure)).iter("path") if e.get("class") == "curve"]
    return [[tuple(map(float, point.split())) for point in re.split("[ML]", path) if point] for path in paths]


def texts(figure):
    return [e.text for e in ElementTree.fromstring(str(figure)).iter("text")]


VALUES = st.lists(
    st.one_of(st.none(), st.just(0.0), st.floats(1e-3, 1e9), st.floats(1e-15, 1e-12)), min_size=1, max_size=6
)


@given(key=st.sampled_from(["objective", "hinge", "gap"]), values=VALUES)
def test_every_line_lies_within_its_panel(key, values):
    figure = panel([row_of([Epoch(k + 1, **{key: value}) for k, value in enumerate(values)])], key)
    known = [value for value in values if value is not None]
    if not known:
        assert figure is None
        return
    (points,) = curves(figure)
    assert len(points) == len(known)
    for x, y in points:
        assert LEFT - 1 <= x <= WIDTH
        assert TOP - 1 <= y <= BOTTOM + 1
    heights = [y for _, y in points]
    ranked = sorted(range(len(known)), key=lambda k: known[k])
    assert all(heights[a] >= heights[b] - 0.2 for a, b in pairwise(ranked))  # higher is further up


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_accuracies_are_in_percent(shares):
    figure = panel([row_of([Epoch(k + 1, accuracy=share) for k, share in enumerate(shares)])], "accuracy")
    assert all(TOP - 1 <= y <= BOTTOM + 1 for _, y in curves(figure)[0])
    ticks = [float(text) for text in texts(figure) if re.fullmatch(r"[\d.]+", text)]
    assert max(ticks) <= max(100.0, len(shares))


def test_long_histories_are_thinned_and_keep_their_ends():
    history = [Epoch(k + 1, objective=float(1000 - k)) for k in range(1000)]
    (points,) = curves(panel([row_of(history)], "objective"))
    assert 100 < len(points) <= 240
    assert points[0][1] < points[-1][1]
    assert "1000" in texts(panel([row_of(history)], "objective"))


def test_values_far_apart_have_a_logarithmic_axis():
    far, near = (
        [Epoch(k + 1, objective=value) for k, value in enumerate(v)] for v in ((1e4, 1e2, 1.0), (3.0, 2.0, 1.0))
    )
    for history, told in ((far, "epoch (vertical axis logarithmic)"), (near, "epoch")):
        figure = panel([row_of(history)], "objective")
        assert told in texts(figure)
        _, middle, _ = (y for _, y in curves(figure)[0])
        assert middle == pytest.approx((TOP + BOTTOM) / 2, abs=3)


def test_rows_are_told_apart_and_named(make_run):
    results = read_results(make_run(rows=("SGD", "int+nrl", "3-layer")))
    figure = panel(results.rows, "objective")
    groups = [e for e in ElementTree.fromstring(str(figure)).iter("g") if e.get("data-series")]
    assert [group.get("data-series") for group in groups] == ["SGD", "int+nrl", "3-layer"]
    assert len({group.get("class") for group in groups}) == 3
    names = [e for e in ElementTree.fromstring(str(figure)).iter("text") if e.get("class") == "series-name"]
    places = sorted(float(name.get("y")) for name in names)
    assert all(b - a >= 12.9 for a, b in pairwise(places))
    assert all(0 < place < HEIGHT for place in places)


def test_a_row_without_a_quantity_has_no_line(make_run):
    results = read_results(make_run(rows=("SGD", "int+nrl")))
    bare = replace(results.rows[0], history=[])
    assert len(curves(panel([bare, results.rows[1]], "gap"))) == 1
    assert all(each.figure is None for each in panels([bare], SLOTS))
