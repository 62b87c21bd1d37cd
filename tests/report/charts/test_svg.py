"""Pieces of SVG: well-formed whatever they are told, axes that hold their values, numbers that fit their place."""

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from neuralfactors._report.charts import svg

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=12)
SIZES = st.floats(1e-14, 1e12)


@given(name=TEXTS, title=TEXTS)
def test_whatever_is_told_stays_text(name, title):
    drawn = svg.picture(10, 20.5, title, [svg.text(1, 2, name), svg.tag("g", svg.tag("title", title), data_name=name)])
    root = ElementTree.fromstring(str(drawn))
    assert (root.get("aria-label"), root.get("viewBox")) == (title, "0 0 10 20.5")
    text, group = root
    assert (text.text or "", group.get("data-name"), group[0].text or "") == (name, name, title)


def test_attributes():
    assert str(svg.tag("rect", x=1.0, y=2.346, class_="bar", stroke_width=3, hidden=None)) == (
        '<rect x="1" y="2.35" class="bar" stroke-width="3"></rect>'
    )
    assert "text-anchor" not in svg.text(0, 0, "a")
    assert 'text-anchor="end"' in svg.text(0, 0, "a", anchor="end")
    assert 'width="0"' in svg.bar(5, 0, -3.0, 4, "bar")  # a browser would refuse a width below zero


@given(low=st.floats(-1e6, 1e6), size=SIZES, about=st.integers(1, 8))
def test_ticks_rise_evenly_and_span_the_values(low, size, about):
    high = low + size
    assume(size > 1e-6 * abs(low))  # the axis of values that hardly differ is another matter
    found = svg.ticks(low, high, about)
    steps = [b - a for a, b in pairwise(found)]
    assert 2 <= len(found) <= 2 * about + 4
    assert min(steps) > 0
    assert max(steps) == pytest.approx(min(steps), rel=1e-3)
    slack = 1e-6 * steps[0]
    assert found[0] <= low + slack
    assert found[-1] >= high - slack


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-13, 1e9])
def test_ticks_of_a_single_value(value):
    found = svg.ticks(value, value)
    assert found[0] <= value < found[-1]
    assert len(set(found)) == len(found)


@given(low=SIZES, factor=st.floats(1.5, 1e6), share=st.floats(0, 1))
def test_scales_go_from_end_to_end(low, factor, share):
    high = low * factor
    for scale, middle in (
        (svg.linear(low, high, 100, 20), low + share * (high - low)),
        (svg.logarithmic(low, high, 100, 20), low * factor**share),
    ):
        assert scale(low) == pytest.approx(100)
        assert scale(high) == pytest.approx(20)
        assert scale(middle) == pytest.approx(100 - 80 * share, abs=1e-6)


def test_a_scale_of_one_value_does_not_divide_by_zero():
    assert svg.linear(3, 3, 10, 20)(3) == 10


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"), (0, "0"), (-0.0, "0"), (0.05, "0.05"), (0.123, "0.12"), (0.9999, "1"), (1.25, "1.2"),
        (99.99, "100"), (-3.5, "−3.5"), (1234, "1\u202f234"), (-12345.6, "−12\u202f346"), (1e7, "1e7"),
        (2.4e-5, "2e−5"), (0.0004, "4e−4"), (-0.00001, "−1e−5"),
    ],
)  # fmt: skip
def test_short_numbers(value, expected):
    assert svg.short(value) == expected


@given(value=st.floats(-1e15, 1e15))
def test_short_numbers_are_short_and_close(value):
    told = svg.short(value)
    assert len(told) <= 9
    read = float(told.replace(svg.MINUS, "-").replace("\u202f", ""))
    assert read == pytest.approx(value, rel=0.5, abs=1e-15)
    assert "-" not in told


@pytest.mark.parametrize(
    ("share", "percent", "spread", "signed"),
    [
        (None, "–", "", "–"),
        (0.0, "0.0", " ± 0.0", "±0.0"),
        (0.12345, "12.3", " ± 12.3", "+12.3"),
        (-0.0004, "-0.0", " ± -0.0", "±0.0"),
        (-0.056, "-5.6", " ± -5.6", "−5.6"),
        (1.0, "100.0", " ± 100.0", "+100.0"),
    ],
)
def test_shares(share, percent, spread, signed):
    assert (svg.percent(share), svg.plus_minus(share), svg.signed(share)) == (percent, spread, signed)


@given(places=st.lists(st.floats(0, 100), max_size=8), distance=st.floats(0.1, 30))
def test_labels_are_moved_apart_in_their_order(places, distance):
    found = svg.spread(places, distance, 0, 100)
    order = sorted(range(len(places)), key=lambda k: places[k])
    for before, after in pairwise(order):
        assert found[after] - found[before] >= distance - 1e-9
    if distance * (len(places) - 1) <= 100:
        assert all(-1e-9 <= place <= 100 + 1e-9 for place in found)
    if all(places[b] - places[a] >= distance for a, b in pairwise(order)):
        assert found == pytest.approx(places)


def test_room_for_names():
    assert svg.room_for([], 66.0) == svg.room_for(["a"], 66.0) == 66.0
    assert svg.room_for(["a" * 30], 66.0) > 150


def test_every_row_has_dashes_and_a_mark_of_its_own():
    assert len(set(svg.DASHES)) == len(set(svg.MARKS)) == 8
    assert svg.mark(0, 0, 1) != svg.mark(0, 0, 2)
    assert math.isfinite(svg.LETTER)
