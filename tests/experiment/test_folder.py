"""Files that decide results: a changed digit, or another shape, is refused in one sentence that names the file."""

import json

import pytest

from neuralfactors.datasets import write_scenes
from neuralfactors.experiment import Means, RunConfig, RunFolder, Search, read_settings, read_trials, resume, run, tune
from neuralfactors.experiment.folder import read_object, write_json
from neuralfactors.experiment.rows import HistoryWriter
from neuralfactors.files import DIGEST, FileFormatError, read_records, sealed, write_records

SMALL = {"features": {"n_regions": 10}, "parameters": {"*": {"max_iter": 2}}}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("data"), 10, shape=(30, 40))


@pytest.fixture(scope="module")
def document(scenes, tmp_path_factory):
    """The content of run.json of a finished run."""
    folder = run(RunConfig(str(scenes), ("unary",), **SMALL), tmp_path_factory.mktemp("run") / "run", Means(n_jobs=1))
    return RunFolder(folder).document()


@pytest.fixture(scope="module")
def searched(scenes, tmp_path_factory):
    """The folder of a finished search."""
    out = tmp_path_factory.mktemp("search") / "search"
    tune(RunConfig(str(scenes), ("unary",), **SMALL), Search(2, ("C",)), out, Means(n_jobs=1))
    return out


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_is_sealed_comes_back(tmp_path):
    write_json(tmp_path / "a", {"x": (1, 2.5), "ä": {3: None}, DIGEST: "stale"})
    assert read_object(tmp_path / "a") == {"x": [1, 2.5], "ä": {"3": None}}
    write_records(tmp_path / "b", [{"epoch": 1}, {"epoch": 2, "accuracy": float("inf")}])
    assert read_records(tmp_path / "b") == [{"epoch": 1}, {"epoch": 2, "accuracy": float("inf")}]


@pytest.mark.parametrize(("old", "new"), [('"seed": 0', '"seed": 1'), ('"max_iter": 2', '"max_iter": 3')])
def test_a_changed_digit_in_the_settings_of_a_run(document, tmp_path, old, new):
    write_json(tmp_path / "run.json", {**document, "finished": None})
    change(tmp_path / "run.json", old, new)
    with pytest.raises(FileFormatError, match=r"run\.json is altered: its digest differs"):
        resume(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


SHAPES = {
    "empty": lambda _: {"format": 2},
    "row outside": lambda document: {**document, "settings": {**document["settings"], "rows": ["../../x"]}},
    "seed outside": lambda document: {**document, "seeds": ["/../../x"]},
    "unknown option": lambda document: {**document, "settings": {**document["settings"], "colour": "blue"}},
    "unknown feature": lambda document: {**document, "settings": {**document["settings"], "features": {"x": 1}}},
    "no search": lambda document: {**document, "kind": "tune"},
    "nameless class": lambda document: {**document, "classes": [{}]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_another_shape_of_a_run(document, tmp_path, shape):
    write_json(tmp_path / "run.json", SHAPES[shape](document))
    with pytest.raises(FileFormatError, match=r"run\.json does not describe a run: "):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"format": "\xff"}', b"", b"[]", b'{"format": 1}'])
def test_what_is_no_run_at_all(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"run\.json (is truncated or altered|was not written|has format 1)"):
        RunFolder.open(tmp_path)


def test_a_changed_digit_in_the_state_of_a_row(tmp_path):
    folder = RunFolder(tmp_path)
    write_json(folder.row("unary") / "row.json", {"format": 2, "status": "done", "seconds": 1.0})
    change(folder.row("unary") / "row.json", "1.0", "2.0")
    with pytest.raises(FileFormatError, match=r"row\.json is altered: its digest differs"):
        folder.row_document("unary")


def test_a_changed_digit_in_the_score_of_a_trial(searched, tmp_path):
    lines = (searched / "trials.jsonl").read_text().splitlines()
    trial = json.loads(lines[1])
    lines[1] = json.dumps({**trial, "score": trial["score"] + 1})
    (tmp_path / "trials.jsonl").write_text("\n".join(lines))
    with pytest.raises(FileFormatError, match=r"line 2 of .*trials\.jsonl is altered: its digest differs"):
        read_trials(tmp_path)


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"trial": 1}', json.dumps(sealed({"colour": 1}))])
def test_another_shape_of_a_trial_or_an_epoch(tmp_path, line):
    for name in ("trials.jsonl", "history.jsonl"):
        (tmp_path / name).write_text(line + "\n")
    with pytest.raises(FileFormatError, match=r"line 1 of .*trials\.jsonl"):
        read_trials(tmp_path)
    with pytest.raises(FileFormatError, match=r"line 1 of .*history\.jsonl"):
        HistoryWriter(tmp_path / "history.jsonl")({"epoch": 2})


def test_chosen_settings_may_be_changed_on_purpose_only(searched, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text((searched / "settings.json").read_text())
    chosen = read_settings(path)
    content = json.loads(path.read_text())
    content["rows"]["unary"]["balance"] = 0.75
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=f"if you changed it on purpose, delete the line {DIGEST}"):
        read_settings(path)
    del content[DIGEST]
    path.write_text(json.dumps(content))
    assert read_settings(path) == {"unary": {**chosen["unary"], "balance": 0.75}}
