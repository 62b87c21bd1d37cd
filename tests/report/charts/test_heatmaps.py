"""Heat maps: every cell in its place, shares by row, and nothing divided by zero."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from neuralfactors._report.charts.heatmaps import (
    CELL,
    MARGIN,
    confusion_map,
    interaction_map,
    largest_confusions,
    row_shares,
)

COUNTS = arrays.arrays(np.int64, st.integers(1, 5).map(lambda n: (n, n)), elements=st.integers(0, 1000))


def names_of(table):
    return [f"class {k}" for k in range(len(table))]


def cells(markup, class_):
    """The opacity of every cell that is drawn in that class, by row and column."""
    found = {}
    for path in ElementTree.fromstring(str(markup)).iter("path"):
        if path.get("class") == class_:
            for corner in path.get("d").split("M")[1:]:
                x, y = (float(value) for value in corner.split("h")[0].split())
                found[int((y - MARGIN) // CELL), int((x - MARGIN) // CELL)] = float(path.get("fill-opacity"))
    return found


@given(confusion=COUNTS)
def test_rows_are_shares(confusion):
    shares = row_shares(confusion)
    sums = shares.sum(axis=1)
    np.testing.assert_allclose(sums, confusion.any(axis=1).astype(float))
    assert ((shares > 0) == (confusion > 0)).all()


@given(confusion=COUNTS)
def test_shades_follow_the_shares(confusion):
    drawn = cells(confusion_map(confusion, names_of(confusion), "Confusion"), "seq")
    shares = row_shares(confusion)
    for (i, j), opacity in drawn.items():
        assert opacity == pytest.approx(np.sqrt(shares[i, j]), abs=0.05)
    assert all(place in drawn for place in zip(*np.nonzero(shares > 0.01), strict=True))


@given(confusion=COUNTS)
def test_largest_confusions(confusion):
    found = largest_confusions(confusion, names_of(confusion), most=3)
    off = {(i, j): confusion[i, j] for i in range(len(confusion)) for j in range(len(confusion)) if i != j}
    expected = sorted((count for count in off.values() if count), reverse=True)[:3]
    places = [(int(true[6:]), int(predicted[6:])) for true, predicted, _ in found]
    assert [off[place] for place in places] == expected
    for (i, j), (_, _, share) in zip(places, found, strict=True):
        assert share == pytest.approx(confusion[i, j] / confusion[i].sum())


def test_scores_stand_about_their_mean():
    table = np.array([[3.0, 1.0], [1.0, -1.0]])
    drawn = interaction_map(table, ["sky", "sea"], "Interactions")
    assert cells(drawn, "high") == {(0, 0): 1.0}
    assert cells(drawn, "low") == {(1, 1): 1.0}
    marks = [e.text for e in ElementTree.fromstring(str(drawn)).iter("text") if "cell" in (e.get("class") or "")]
    assert marks == ["+", "−"]


@pytest.mark.parametrize("table", [np.zeros((3, 3)), np.full((3, 3), 1e300), np.full((1, 1), -5.0)])
def test_scores_that_are_all_the_same_leave_an_empty_map(table):
    drawn = interaction_map(table, names_of(table), "Interactions")
    assert cells(drawn, "high") == cells(drawn, "low") == {}


def test_names_are_escaped_and_shortened():
    root = ElementTree.fromstring(str(confusion_map(np.eye(1, dtype=int), ["<script>alert(1)</script>"], "a & b")))
    labels = [e.text for e in root.iter("text") if "label" in (e.get("class") or "")]
    assert labels == ["<script>ale…"] * 2
    assert root.get("aria-label") == "a & b"
    assert root.get("data-grid").split()[-1] == "1"
