import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors._common.files import DIGEST, FileFormatError, read_records, write_records
from neuralfactors._runs.documents import FORMAT, Document, decode, encode
from neuralfactors._runs.records import Counts, Settings, Table


@dataclass(frozen=True)
class Point:
    x: float
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Tables:
    counts: Counts
    scores: Table


def test_what_is_written_comes_back(tmp_path):
    settings = Settings({"*": {"hidden": [7], "ä": None}}, score=0.5)
    file = Document(Settings, tmp_path / "new/a")
    assert file.read() is None
    file.write(settings)
    assert file.read() == settings
    tables = Tables(np.array([[1, 2], [3, 4]]), np.array([[0.1, 1.0], [1e-300, -3.0]]))
    Document(Tables, tmp_path / "b").write(tables)
    back = Document(Tables, tmp_path / "b").read()
    assert (back.counts.dtype, back.scores.dtype) == (np.int64, np.float64)
    np.testing.assert_array_equal(back.counts, tables.counts)
    np.testing.assert_array_equal(back.scores, tables.scores)


def test_lines_that_are_sealed_come_back(tmp_path):
    write_records(tmp_path / "b", [{"epoch": 1}, {"epoch": 2, "accuracy": float("inf")}])
    assert read_records(tmp_path / "b") == [{"epoch": 1}, {"epoch": 2, "accuracy": float("inf")}]


@pytest.mark.parametrize("value", [3, "3", True, None, [], {}, {"x": True}, {"x": float("nan")}, {"x": 1, "y": 2}])
def test_what_is_no_point_is_refused(value):
    with pytest.raises(ValueError, match=r"must be|has an unknown key|is missing"):
        decode(Point, value, "point")
    assert decode(Point, {"x": 1}, "point") == Point(1)


@pytest.mark.parametrize("value", [{"a": 1}, [[1]], float("nan"), [float("inf")], [{}]])
def test_a_parameter_is_a_plain_value(value):
    with pytest.raises(ValueError, match=r"C must be (of type str|finite), got"):
        decode(Settings, {"variants": {"*": {"C": value}}}, "settings")
    plain = {"C": 1, "void": "drop", "hidden": [4, "n_labels"], "t0": 0.5, "sign": None, "root": False, "none": []}
    assert decode(Settings, {"variants": {"*": plain}}, "settings").variants["*"] == plain


@pytest.mark.parametrize("table", [3, [1], [[1.5]], [[1], [1, 2]], [["1"]], [[True]], [[[1]]]])
def test_what_is_no_table_of_counts_is_refused(table):
    with pytest.raises(ValueError, match="counts must be"):
        decode(Tables, {"counts": table, "scores": [[1]]}, "tables")


def test_people_may_write_settings_but_not_change_a_digit_unnoticed(tmp_path):
    path = tmp_path / "settings.json"
    file = Document(Settings, path)
    path.write_text(json.dumps({"format": FORMAT, "variants": {"CP": {"C": 2.0}}}))
    assert file.read(by_hand=True).variants == {"CP": {"C": 2.0}}
    with pytest.raises(FileFormatError, match="its digest differs"):
        file.read()
    file.write(Settings({"CP": {"C": 2.0}}))
    content = json.loads(path.read_text())
    content["variants"]["CP"]["C"] = 3.0
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=f"if you changed it on purpose, delete the line {DIGEST}"):
        file.read(by_hand=True)
    del content[DIGEST]
    path.write_text(json.dumps(content))
    assert file.read(by_hand=True).variants == {"CP": {"C": 3.0}}


def test_records_as_json_holds_them():
    assert encode({"a": (Point(1.0), np.eye(1)), 3: None}) == {"a": [{"x": 1.0, "name": None}, [[1.0]]], "3": None}


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (FORMAT - 1, f"has format {FORMAT - 1}, older than {FORMAT}, which this version reads"),
        (FORMAT + 1, f"has format {FORMAT + 1}, newer than {FORMAT}: update neuralfactors to read it"),
        ("new", "was not written by neuralfactors"),
    ],
)
def test_only_files_of_this_format_are_read(tmp_path, version, message):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"format": version, "variants": {}}))
    with pytest.raises(FileFormatError, match=message):
        Document(Settings, path).read(by_hand=True)


@dataclass(frozen=True)
class Nested:
    pair: tuple[int, str]
    points: tuple[Point, ...] = ()
    by_name: Mapping[str, Point] = field(default_factory=dict)
    kind: Literal["round", "square"] = "round"


points = st.builds(Point, st.floats(allow_nan=False, allow_infinity=False), st.none() | st.text())


@given(
    st.builds(
        Nested,
        pair=st.tuples(st.integers(), st.text()),
        points=st.lists(points).map(tuple),
        by_name=st.dictionaries(st.text(), points),
        kind=st.sampled_from(["round", "square"]),
    )
)
def test_records_come_back_from_json(record):
    assert decode(Nested, json.loads(json.dumps(encode(record))), "nested") == record


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "pair is missing"),
        ({"pair": [1]}, "pair must have 2 entries, got 1"),
        ({"pair": ["1", "a"]}, "pair must be of type int, got str"),
        ({"pair": [1, "a"], "points": {"x": 1.0}}, "points must be of type list, got dict"),
        ({"pair": [1, "a"], "points": [{"x": "1"}]}, "x must be of type float, got str"),
        ({"pair": [1, "a"], "by_name": {"a": {"x": None}}}, "x must be of type float, got NoneType"),
        ({"pair": [1, "a"], "kind": "oval"}, "kind must be one of round, square, got 'oval'"),
        ({"pair": [1, "a"], "size": 3}, "nested has an unknown key 'size'"),
    ],
)
def test_what_does_not_fit_its_type_is_named(value, message):
    with pytest.raises(ValueError, match=message):
        decode(Nested, value, "nested")
