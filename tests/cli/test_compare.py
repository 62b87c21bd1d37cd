"""compare, end to end on scenes: figures that agree with evaluate, interruptions, errors in one sentence."""

import json
import statistics

import pytest
from commands import SMALL, kill_when, without_times

from neuralfactors._common.files import sealed

ROWS = ("unary", "CP", "SGD", "int+lin", "bif+nrl", "int+nrl", "int†+lin", "3-layer")


FOLDERS = {**{row: row for row in ROWS}, "int†+lin": "int+lin-dagger"}


@pytest.fixture(scope="module")
def compare(call, scenes, cache):
    return lambda out, *more: call("compare", scenes, "--out", out, "--cache", cache, *SMALL, *more)


@pytest.fixture(scope="module")
def compared(compare, tmp_path_factory):
    """All rows with two seeds: the folder, and what --json printed."""
    out = tmp_path_factory.mktemp("compared") / "run"
    result = compare(out, "--seeds", "2", "--limit", "CP=4", "--json")
    assert result.code == 0, result.err
    return out, json.loads(result.out)


def test_every_row_has_figures_and_the_runs_are_ordinary_ones(call, compared):
    out, figures = compared
    assert [row["variant"] for row in figures["rows"]] == list(FOLDERS.values())
    assert figures["problems"] == []
    for row in figures["rows"]:
        assert row["seeds"] == [0, 1]
        assert row["training"]["n_train"] == (4 if row["variant"] == "CP" else 7)
        assert row["pixel"]["paper"] is None
        assert row["training"]["seconds_per_epoch"] > 0
        assert len(row["per_class"]) == len(figures["run"]["classes"]) == 7
    for seed in (0, 1):
        document = json.loads(call("info", out / f"seed-{seed}", "--json").out)
        assert document["settings"]["seed"] == seed
        assert {row["row"]["status"] for row in document["rows"]} == {"done"}
        assert document["splits"] == {"train": 7, "val": 3, "test": 2}


@pytest.mark.parametrize("row", ["CP", "int+nrl", "int†+lin"])
def test_table_equals_evaluate_on_the_saved_runs(call, compared, scenes, cache, row):
    out, figures = compared
    found = {}
    for seed in (0, 1):
        options = ("--variant", FOLDERS[row], "--cache", cache, "--jobs", "1", "--json", "--quiet")
        result = call("evaluate", out / f"seed-{seed}", scenes, "--split", "test", *options)
        assert result.code == 0, result.err
        found[seed] = json.loads(result.out)
    (told,) = [each for each in figures["rows"] if each["variant"] == FOLDERS[row]]
    for key in ("pixel", "class_mean"):
        values = [found[seed][key] for seed in (0, 1)]
        assert told[key]["ours"] == pytest.approx(statistics.fmean(values))
        assert told[key]["spread"] == pytest.approx(statistics.stdev(values))
        assert told[key]["by_seed"] == {str(seed): found[seed][key] for seed in (0, 1)}


def test_table_is_printed_with_its_spread(call, compared):
    out, figures = compared
    result = call("resume", out, "--jobs", "1")  # nothing is left to do
    assert result.code == 0, result.err
    lines = {line.split()[0]: line for line in result.out.splitlines()}
    for row, printed in zip(figures["rows"], ROWS, strict=True):
        assert f"{100 * row['pixel']['ours']:.1f} ± {100 * row['pixel']['spread']:.1f}" in lines[printed]


def test_comparison_tells_how_much_is_left(call, scenes, cache, tmp_path):
    loud = [option for option in SMALL if option != "--quiet"]
    result = call(
        "compare", scenes, "--out", tmp_path / "run", "--cache", cache, *loud, "--variants", "unary,SGD", "--seeds", "2"
    )
    for line in ("seed 0 (0 of 2 done)", "seed 1 (1 of 2 done, about ", "training SGD (2 of 2)"):
        assert line in result.err


def test_same_seed_gives_the_same_row_whatever_else_is_trained(compare, compared, tmp_path):
    result = compare(tmp_path / "again", "--variants", "SGD,3-layer", "--json")
    again = {row["variant"]: row for row in json.loads(result.out)["rows"]}
    assert list(again) == ["SGD", "3-layer"]
    for row in compared[1]["rows"]:
        if row["variant"] in again:
            for key in ("pixel", "class_mean"):
                assert again[row["variant"]][key]["ours"] == row[key]["by_seed"]["0"]


def test_killed_comparison_goes_on_to_the_same_table(compare, compared, scenes, cache, tmp_path):
    out = tmp_path / "cut"
    command = ("compare", scenes, "--out", out, "--cache", cache, *SMALL, "--variants", "unary,int+lin", "--seeds", "2")
    kill_when(lambda: (out / "seed-0/rows/int+lin").exists(), command)
    before = (out / "seed-0/rows/unary/row.json").read_bytes()
    result = compare(out, "--variants", "unary,int+lin", "--seeds", "2", "--json")
    assert result.code == 0, result.err
    assert (out / "seed-0/rows/unary/row.json").read_bytes() == before  # what was done is not done again
    rows = [row for row in compared[1]["rows"] if row["variant"] in ("unary", "int+lin")]
    assert without_times(json.loads(result.out)["rows"]) == without_times(rows)


def test_more_seeds_may_be_asked_but_not_other_settings(compare, call, scenes, tmp_path):
    out = tmp_path / "run"
    assert compare(out, "--variants", "unary").code == 0
    result = compare(out, "--variants", "unary", "--seeds", "2", "--json")
    assert json.loads(result.out)["rows"][0]["seeds"] == [0, 1]
    for changed in (("--variants", "SGD"), ("--variants", "unary", "--limit", "3"), ("--variants", "unary")):
        refused = compare(out, *changed)
        assert refused.code == 1
        assert "contains a run with other settings" in refused.err
    refused = call("predict", out, scenes / "images", "--out", tmp_path / "maps")
    assert f"{out} contains several runs: name one of them, such as {out / 'seed-0'}" in refused.err


def test_report_of_a_half_finished_comparison(call, compare, tmp_path):
    out = tmp_path / "run"
    assert compare(out, "--variants", "unary,SGD", "--seeds", "2").code == 0
    (out / "seed-1/rows/SGD/metrics.json").write_text("{")
    document = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(sealed({**document, "seeds": [0, 1, 2], "finished": None})))
    result = call("report", out)
    assert result.code == 0, result.err
    page = (out / "report.html").read_text()
    assert "<li>seed-1: rows/SGD/metrics.json is truncated or altered: it is not JSON</li>" in page
    assert "<li>seed-2 has not started</li>" in page
    result = call("info", out)
    assert "seed-2 has not started" in result.err
    assert result.code == 0


def test_settings_files_change_rows(compare, tmp_path):
    settings = tmp_path / "settings.json"
    rows = {"*": {"max_iter": 1}, "int†+lin": {"C": 7.0, "balance": 0.5}, "CP": {"C": 3.0}}
    settings.write_text(json.dumps({"format": 4, "variants": rows}))
    result = compare(tmp_path / "run", "--variants", "int†+lin", "--settings", settings, "--json")
    assert result.code == 0, result.err
    state = json.loads((tmp_path / "run/seed-0/rows/int+lin-dagger/row.json").read_text())
    assert (state["settings"]["model"]["C"], state["balance"], state["epochs"]) == (7.0, 0.5, 2)  # --epochs comes last
    assert json.loads(result.out)["rows"][0]["settings"] == {"C": 7.0, "balance": 0.5, "max_iter": 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--preset", "imagenet"), ("preset must be one of msrc21, kitti, siftflow, got 'imagenet'",)),
        (("--preset", "kitti"), ("the preset kitti is for the classes sky, building", "but", "meadow")),
        (("--variants", "SGD,magic"), ("variant must be one of", "got 'magic'")),
        (("--limit", "many"), ("limit must be a number of images, or VARIANT=N, got 'many'",)),
        (("--limit", "magic=3"), ("variant must be one of", "got 'magic'")),
        (("--limit", "SGD=3", "--variants", "unary"), ("'SGD=3' names a variant that is not in this run", "unary")),
        (("--jobs", "0"), ("jobs must be a number of processes",)),
        (("--split", "nothing"), ("there is no split 'nothing'",)),
        (("--test", "tset"), ("there is no split 'tset'",)),
        (("--features", "sift"), ("'sift'", "bow+cnn")),
    ],
)
def test_compare_refuses_in_one_sentence(compare, tmp_path, options, words):
    result = compare(tmp_path / "run", *options)
    assert result.code == 1
    (line,) = [line for line in result.err.splitlines() if line.startswith("Error:")]
    for word in words:
        assert word in line
    assert not (tmp_path / "run").exists()


def test_compare_says_what_it_evaluates_on(call, cache, copied_scenes, tmp_path):
    (copied_scenes / "splits/test.txt").unlink()
    options = ("--regions", "30", "--epochs", "1", "--jobs", "1", "--variants", "unary", "--cache", cache)
    result = call("compare", copied_scenes, "--out", tmp_path / "run", *options)
    assert result.code == 0, result.err
    assert "There is no split test, so rows are evaluated on val" in result.err
    assert "Accuracies are for 3 images of the split val." in result.out


def test_compare_refuses_images_that_leave_nothing_to_evaluate(call, copied_scenes, tmp_path):
    for split in ("val", "test"):
        (copied_scenes / f"splits/{split}.txt").unlink()
    result = call("compare", copied_scenes, "--out", tmp_path / "run", "--variants", "unary")
    assert result.code == 1
    assert result.err == f"Error: {copied_scenes} has neither test nor val to evaluate on: name a split with --test\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 4, "variants"', "is truncated or altered: it is not JSON"),
        ("[1]", "was not written by neuralfactors"),
        ('{"format": 99, "variants": {}}', "has format 99, newer than 4"),
        ('{"format": 4, "variants": {"SGD": 3}}', "does not describe settings: variants must be of type dict, got int"),
        ('{"format": 4, "variants": {"magic": {}}}', "must be one of"),
        ('{"format": 4, "variants": {"CP": {"speed": 1}}}', "'CP' has no parameter 'speed'; it has C"),
        ('{"format": 4, "variants": {"SGD": {"balance": 2}}}', "balance of 'SGD' must be between 0 and 1, got 2"),
        (
            '{"format": 4, "variants": {"int+nrl": {"unary__hidden": 256}}}',
            "unary__hidden of 'int+nrl' must be a list",
        ),
    ],
)
def test_bad_settings_are_refused(call, compare, scenes, tmp_path, content, message):
    settings = tmp_path / "settings.json"
    settings.write_text(content)
    for result in (
        compare(tmp_path / "run", "--settings", settings),
        call("train", scenes, "--out", tmp_path / "run", "--settings", settings),
    ):
        assert result.code == 1
        assert str(settings) in result.err
        assert message in result.err
    assert not (tmp_path / "run").exists()
