"""Files that decide results: a changed digit, or another shape, is refused in one sentence that names the file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from neuralfactors._common.ceiling import Ceiling
from neuralfactors._common.files import FileFormatError, sealed
from neuralfactors._runs import ClassInfo, Epoch, Regions, Row, Run, RunConfig, RunFolder, Search, Trial, typed
from neuralfactors._runs.documents import FORMAT, encode

CONFIG = RunConfig("/data/scenes", ("unary", "int+nrl"), parameters={"*": {"max_iter": 2}})
RUN = Run(CONFIG, {"train": 6, "test": 2}, (ClassInfo("sky", (1, 2, 3)),), 1, {"python": "3"}, "2026-01-02T03:04:05")
ROW = Row("unary", "done", {"model": {"C": 1.0}}, seed=0, balance=0.0, n_train=6, seconds=1.0)


def body(record):
    return {"format": FORMAT, **encode(record)}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sealed(content)))


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_run_comes_back_as_it_was(tmp_path):
    folder = RunFolder(tmp_path)
    for run in (RUN, replace(RUN, seeds=(0, 3)), replace(RUN, settings=replace(CONFIG, kind="tune"), search=Search())):
        folder.document.write(run)
        assert folder.run() == RunFolder(tmp_path).run() == run
    assert folder.run().ended().finished


def test_a_name_that_is_not_utf8_comes_back(tmp_path):
    run = replace(RUN, command="a\udce4b → c")
    RunFolder(tmp_path).document.write(run)
    assert RunFolder(tmp_path).run() == run


def test_rows_come_back_as_they_were(tmp_path):
    folder = RunFolder(tmp_path)
    folder.document.write(RUN)
    row = folder.row("unary")
    assert (row.row.read(), row.metrics.read(), row.history.read(), row.is_done) == (None, None, [], False)
    row.row.write(ROW)
    assert row.row.read() == row.checked_row() == ROW
    assert [each.is_done for each in folder.rows()] == [True, False]
    for epoch in (1, 2, 3, 2):  # it was resumed after the first
        row.add_epoch(Epoch(epoch, hinge=1.0 / epoch))
    assert row.history.read() == [Epoch(1, hinge=1.0), Epoch(2, hinge=0.5)]


def test_regions_come_back_as_they_were(tmp_path):
    folder, regions = RunFolder(tmp_path), Regions(600, 30.0, True, 587, Ceiling(0.9, 0.75, (1.0, None, 0.5)))
    assert folder.regions.read() is None
    folder.regions.write(regions)
    assert folder.regions.read() == regions
    change(tmp_path / "regions.json", "0.75", "0.95")
    with pytest.raises(FileFormatError, match=r"regions\.json has been altered"):
        folder.regions.read()


def test_checkpoints_are_removed(tmp_path):
    row = RunFolder(tmp_path).row("unary")
    row.path.mkdir(parents=True)
    for path in (row.checkpoint("model"), row.row.path):
        path.touch()
    row.remove_checkpoints()
    assert [path.name for path in row.path.iterdir()] == [row.row.path.name]


@pytest.mark.parametrize(("old", "new"), [('"seed": 0', '"seed": 1'), ('"max_iter": 2', '"max_iter": 3')])
def test_a_changed_digit_in_the_settings_of_a_run(tmp_path, old, new):
    RunFolder(tmp_path).document.write(RUN)
    change(tmp_path / "run.json", old, new)
    with pytest.raises(FileFormatError, match=r"run\.json has been altered: its digest differs"):
        RunFolder(tmp_path).run()


def with_settings(**changes):
    return {**body(RUN), "settings": {**encode(CONFIG), **changes}}


SHAPES = {
    "empty": ({"format": FORMAT}, "settings is missing"),
    "variant outside": (with_settings(variants=["../../x"]), "variant must be one of unary"),
    "parameters outside": (with_settings(parameters={"../x": {}}), "variant must be one of unary"),
    "seed outside": ({**body(RUN), "seeds": ["/../../x"]}, "seeds must be of type int, got str"),
    "seed is a truth": ({**body(RUN), "seeds": [True]}, "seeds must be of type int, got bool"),
    "no seed": ({**body(RUN), "seeds": []}, "seeds must name at least one seed"),
    "unknown option": (with_settings(colour="blue"), "settings has an unknown key 'colour'"),
    "unknown key": ({**body(RUN), "colour": "blue"}, "run has an unknown key 'colour'"),
    "unknown kind": (with_settings(kind="play"), "kind must be one of train, compare, demo, tune, got 'play'"),
    "no search": (with_settings(kind="tune"), "a run must have a search if its kind is tune"),
    "nameless class": ({**body(RUN), "classes": [{}]}, "name is missing"),
    "unseen colour": ({**body(RUN), "classes": [{"name": "x", "color": [0, 0, 256]}]}, "color must contain numbers"),
    "two colours": ({**body(RUN), "classes": [{"name": "x", "color": [0, 0]}]}, "color must have 3 entries, got 2"),
    "splits": ({**body(RUN), "splits": {"train": "six"}}, "splits must be of type int, got str"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_another_shape_of_a_run(tmp_path, shape):
    content, reason = SHAPES[shape]
    write(tmp_path / "run.json", content)
    with pytest.raises(FileFormatError, match=r"run\.json does not describe a run: ") as refused:
        RunFolder(tmp_path).run()
    assert reason in str(refused.value)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"format": "\xff"}', b"", b"[]", b'{"format": 1}'])
def test_what_is_no_run_at_all(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"run\.json (is truncated or altered|was not written|has format 1)"):
        RunFolder(tmp_path).run()


def test_no_run(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not a run folder: it has no run\.json"):
        RunFolder(tmp_path).run()


def test_a_changed_digit_in_the_state_of_a_row(tmp_path):
    row = RunFolder(tmp_path).row("unary")
    row.row.write(ROW)
    change(row.row.path, "1.0", "2.0")
    with pytest.raises(FileFormatError, match=r"row\.json has been altered: its digest differs"):
        row.row.read()


def test_a_row_of_another_variant(tmp_path):
    row = RunFolder(tmp_path).row("SGD")
    row.row.write(ROW)
    with pytest.raises(FileFormatError, match=r"row\.json belongs to another variant, unary"):
        row.checked_row()


def test_a_changed_digit_in_the_score_of_a_trial(tmp_path):
    folder = RunFolder(tmp_path)
    folder.trials.write([Trial(n, "coarse", {"C": 1.0}, 0.5 + n / 10) for n in range(2)])
    assert [trial.score for trial in folder.trials.read()] == [0.5, 0.6]
    change(tmp_path / "trials.jsonl", "0.6", "0.7")
    with pytest.raises(FileFormatError, match=r"line 2 of .*trials\.jsonl has been altered: its digest differs"):
        folder.trials.read()


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"trial": 1}', json.dumps(sealed({"colour": 1}))])
def test_another_shape_of_a_trial_or_an_epoch(tmp_path, line):
    folder = RunFolder(tmp_path)
    row = folder.row("unary")
    row.path.mkdir(parents=True)
    for path in (tmp_path / "trials.jsonl", row.history.path):
        path.write_text(line + "\n")
    with pytest.raises(FileFormatError, match=r"line 1 of .*trials\.jsonl"):
        folder.trials.read()
    with pytest.raises(FileFormatError, match=r"line 1 of .*history\.jsonl"):
        row.add_epoch(Epoch(2))


def test_the_model_to_use(tmp_path):
    folder = RunFolder(tmp_path)
    folder.document.write(RUN)
    with pytest.raises(ValueError, match=r"has no finished model yet: continue it with 'neuralfactors resume .*'"):
        folder.choose_row(None)
    for variant in CONFIG.variants:
        folder.row(variant).row.write(replace(ROW, variant=variant))
    assert folder.choose_row(None).variant == "int+nrl"
    assert folder.choose_row("unary").variant == "unary"
    with pytest.raises(ValueError, match=r"has no finished model of 'int†\+lin'; it has unary, int\+nrl"):
        folder.choose_row("int†+lin")
    folder.document.write(replace(RUN, seeds=(4,)))
    with pytest.raises(ValueError, match=r"contains several runs: name one of them, such as .*seed-4"):
        folder.choose_row(None)


def test_a_run_is_neither_begun_twice_nor_gone_on_with_by_others(tmp_path):
    folder = RunFolder(tmp_path / "my run")
    folder.refuse_begun()
    folder.document.write(RUN)
    with pytest.raises(
        FileExistsError, match=r"already contains a run: continue it with 'neuralfactors resume '.*my run'', or choose"
    ):
        folder.refuse_begun()
    folder.refuse_unless(True)
    with pytest.raises(ValueError, match="contains a run with other settings"):
        folder.refuse_unless(False)


def test_words_of_a_command_line():
    assert typed(Path("runs/a")) == "runs/a"
    assert typed(Path("-my runs")) == "'./-my runs'"
