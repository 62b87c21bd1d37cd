"""Tables on the terminal: columns that line up, shares in percent, dashes where nothing is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

from neuralfactors._cli.terminal_tables import counted, percent, show_json, show_results, show_table, show_trials
from neuralfactors._runs import ClassInfo, Epoch, Metrics, Row, Run, RunConfig, RunFolder, Search, Settings, Trial

CLASSES = (ClassInfo("sky", (1, 2, 3)), ClassInfo("sea", (4, 5, 6)))


def run_of(*variants, **more):
    config = RunConfig("/data/scenes", variants, more.pop("kind", "train"))
    return Run(config, {"train": 2, "test": 1}, CLASSES, 1, {}, "2026-01-02T03:04:05", **more)


@pytest.fixture
def folder(tmp_path):
    """A run with a finished variant, one that has begun, and one that waits."""
    folder = RunFolder(tmp_path / "run")
    folder.document.write(run_of("unary", "SGD", "int†+lin"))
    row = Row("unary", "done", {}, seed=0, balance=0.0, n_train=2, seconds=12.34)
    folder.row("unary").row.write(row)
    folder.row("SGD").row.write(replace(row, variant="SGD", status="unfinished", seconds=0.0))
    folder.row("unary").add_epoch(Epoch(1))
    confusion = np.array([[3, 1], [0, 4]])
    shares = {"pixel": 0.875, "class_mean": 0.875, "mean_iou": None}
    folder.row("unary").metrics.write(
        Metrics("test", 1, **shares, per_class=(0.75, 1.0), iou=(0.75, 0.8), confusion=confusion)
    )
    return folder


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


def test_columns_line_up(capsys):
    show_table(("name", "n", "share %"), [("a", 1, 12.345), ("longer", 1000, None), ("", 0, 0.0)])
    assert lines_of(capsys) == [
        "name       n  share %",
        "a          1     12.3",
        "longer  1000        –",
        "           0      0.0",
    ]


def test_a_table_without_rows_is_its_heads(capsys):
    show_table(("a", "b"), [])
    assert lines_of(capsys) == ["a  b"]


def test_numbers_in_words():
    assert (counted(1, "image"), counted(2, "image"), counted(0, "image")) == ("1 image", "2 images", "0 images")
    assert (percent(None), percent(0.5)) == (None, 50.0)


def test_json_keeps_names_as_they_are(capsys):
    show_json({"name": "int†+lin", "values": [1, None]})
    out = capsys.readouterr().out
    assert "int†+lin" in out
    assert json.loads(out) == {"name": "int†+lin", "values": [1, None]}


def test_variants_of_a_run(folder, capsys):
    show_results(folder.path)
    heads, *rows = (line.split() for line in lines_of(capsys))
    assert heads[:3] == ["variant", "status", "split"]
    assert rows == [
        ["unary", "done", "test", "87.5", "87.5", "–", "1", "12.3"],
        ["SGD", "unfinished", "–", "–", "–", "–", "–", "0.0"],
        ["int+lin-dagger", "waiting", "–", "–", "–", "–", "–", "–"],
    ]


@pytest.fixture
def search(tmp_path):
    folder = RunFolder(tmp_path / "search")
    folder.document.write(run_of("SGD", kind="tune", search=Search(12)))
    trials = [
        Trial(k, "coarse", {"C": 0.5 * k} if k else {}, score=k / 20, pixel=k / 10, class_mean=0.0) for k in range(11)
    ]
    folder.trials.write([*trials, Trial(11, "fine", {"C": 3.0}, error="it diverged")])
    return folder


def test_the_best_trials_come_first(search, capsys):
    show_results(search.path)
    heads, *rows, told = lines_of(capsys)
    assert heads.split()[-1] == "C"
    assert [int(row.split()[0]) for row in rows] == [10, 9, 8, 7, 6, 5, 4, 3]
    assert rows[0].split() == ["10", "50.0", "100.0", "0.0", "5"]
    assert told.startswith("12 trials")
    assert "1 of them failed" in told


def test_the_present_settings_have_no_values_of_their_own(search, capsys):
    shares = {"score": 0.5, "pixel": 0.5, "class_mean": 0.5}
    search.trials.write([Trial(0, "coarse", {}, **shares), Trial(1, "coarse", {"C": 2.0}, **shares)])
    show_trials(search)
    best, other = lines_of(capsys)[1:3]
    assert best.endswith("unchanged")
    assert other.endswith("2")


def test_all_trials_as_json(search, capsys):
    search.settings.write(Settings({"SGD": {"C": 5.0}}, trial=10, score=0.5))
    show_trials(search, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert len(told["trials"]) == 12
    assert told["settings"]["variants"] == {"SGD": {"C": 5.0}}
    assert told["trials"][-1]["error"] == "it diverged"


def test_a_comparison_names_what_is_missing(tmp_path, capsys):
    folder = RunFolder(tmp_path / "compared")
    folder.document.write(run_of("unary", kind="compare", seeds=(0, 1)))
    show_results(folder.path)
    out, err = capsys.readouterr()
    assert out.startswith("variant")
    assert "seed-0 has not started" in err
    assert "seed-1 has not started" in err
