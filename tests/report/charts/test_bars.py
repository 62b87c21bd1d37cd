"""Bars: as long as their values, with the paper beside them, and nothing drawn where nothing was measured."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from neuralfactors._report import read_results
from neuralfactors._report.charts.bars import (
    class_bars,
    mean_seconds,
    rows_beside_paper,
    seconds_by_part,
    shorten,
    synergy,
)
from neuralfactors._report.published import Figures
from neuralfactors._report.tables import Cell, Line
from neuralfactors._runs import ClassInfo, Epoch


def elements(markup, name, class_):
    root = ElementTree.fromstring(str(markup))
    return [e for e in root.iter(name) if class_ in (e.get("class") or "").split()]


def widths(markup, class_="bar"):
    return [float(e.get("width")) for e in elements(markup, "rect", class_)]


def texts(markup):
    return [e.text for e in ElementTree.fromstring(str(markup)).iter("text")]


@pytest.fixture
def results(make_run):
    return read_results(make_run(rows=("SGD", "int+nrl")))


@pytest.fixture
def row(results):
    return results.row("int+nrl")


def line(ours, spread=None, paper=None, variant="SGD"):
    """A row of the table with the same figures by both measures."""
    template = dict.fromkeys(Line.__dataclass_fields__)
    cell = Cell(**{**dict.fromkeys(Cell.__dataclass_fields__), "ours": ours, "spread": spread, "paper": paper})
    return Line(**{**template, "variant": variant, "pixel": cell, "class_mean": cell})


def test_rows_beside_the_paper():
    lines = [line(0.25), line(0.5, 0.02, 0.6, "int+nrl"), line(None, variant="CP"), line(None, None, 0.4, "3-layer")]
    drawn = rows_beside_paper(lines, "pixel", "Pixel accuracy")
    short, long = widths(drawn)
    assert long == pytest.approx(2 * short, rel=0.01)
    assert len(elements(drawn, "path", "paper-mark")) == 2
    assert len(elements(drawn, "path", "whisker")) == 1
    assert [text for text in texts(drawn) if text in ("25.0", "50.0", "–")] == ["25.0", "50.0", "–", "–"]
    told = [title.text for title in ElementTree.fromstring(str(drawn)).iter("title")]
    assert told[1] == "int+nrl: 50.0 ± 2.0 %, paper 60.0 %"


def test_classes_beside_the_paper(row):
    row = replace(row, metrics=replace(row.metrics, per_class=(0.8, None, 0.4)))
    classes = [ClassInfo(name, (0, 0, 0)) for name in ("Sky", "water", "a very long name of a class")]
    drawn = class_bars(classes, row, Figures(0.5, 0.5, {"sky": 0.6}))
    high, low = widths(drawn)
    assert high == pytest.approx(2 * low, rel=0.01)
    assert len(elements(drawn, "path", "paper-mark")) == 1
    assert "absent" in texts(drawn)
    assert max(len(text) for text in texts(drawn)) <= 14


def test_classes_of_a_row_that_was_not_evaluated(results, row):
    drawn = class_bars(results.run.classes, replace(row, metrics=None), None)
    assert widths(drawn) == []
    assert texts(drawn).count("absent") == 3


def test_synergy_has_three_bars_a_row(results, row):
    drawn = synergy(results.rows, "pixel", "Synergy")
    assert len(widths(drawn)) == 6
    joint = widths(drawn, "part-joint")
    shares = [each.metrics.ablation.joint.pixel for each in results.rows]
    assert joint[1] / joint[0] == pytest.approx(shares[1] / shares[0], rel=0.01)
    bare = replace(row, metrics=replace(row.metrics, ablation=None))
    assert widths(synergy([bare], "pixel", "Synergy"), "part-unary") == []


def test_seconds_are_means_over_the_epochs(row):
    history = [Epoch(1, seconds={"forward": 1.0, "total": 9.0}), Epoch(2, seconds={"forward": 3.0, "inference": 2.0})]
    row = replace(row, history=history)
    assert mean_seconds(row) == {"forward": 2.0, "inference": 1.0}  # the total is none of the parts
    drawn, parts = seconds_by_part([row])
    assert parts == ["forward", "inference"]
    first, second = widths(drawn)
    assert first == pytest.approx(2 * second, rel=0.01)
    assert "3 s" in texts(drawn)


def test_no_seconds_no_figure(row):
    assert seconds_by_part([]) == seconds_by_part([replace(row, history=[])]) == (None, [])


@pytest.mark.parametrize(("name", "most"), [("sky", 3), ("water", 4), ("", 1), ("ab", 1)])
def test_short_names(name, most):
    assert len(shorten(name, most)) <= most
    assert re.match(re.escape(shorten(name, most).rstrip("…")), name)
    assert (shorten(name, most) == name) == (len(name) <= most)
