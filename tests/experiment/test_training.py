"""Runs: the table of variants, run folders, resuming, and that context is learnt on the scenes."""

import json
import re
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.pipeline import Pipeline

from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.estimators import CuttingPlaneSVM, StructuralSVM, UnaryClassifier
from neuralfactors.experiment import VARIANTS, Means, build_model, compare, resume, train, tune
from neuralfactors.experiment.models import check_config
from neuralfactors.files import FileFormatError
from neuralfactors.runs import TABLED, Run, RunConfig, RunFolder, Search, Splits
from neuralfactors.runs.lock import alone_in
from neuralfactors.segmentation import WITH_CNN, Segmenter


def read(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), 60, shape=(60, 80))


@pytest.fixture(scope="module")
def config(scenes):
    small = {"unary__hidden": (32,), "interaction__hidden": (64,), "max_iter": 12, "trainer__learning_rate": 5e-3}
    linear = {"max_iter": 12, "trainer__learning_rate": 5e-3}
    parameters = {"SGD": linear, "int+nrl": small}
    return RunConfig(
        str(scenes), ("unary", "SGD", "int+nrl"), "demo", {"n_regions": 50}, parameters, splits=Splits(test="test")
    )


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    return train(config, folder, Means(cache=folder.parent / "cache"), "a command")


def build(row, **changes):
    return VARIANTS[row].build(21, 60, changes)


def test_rows_are_those_of_the_paper():
    assert TABLED == ("unary", "CP", "SGD", "int+lin", "bif+nrl", "int+nrl", "int+lin-dagger", "3-layer")
    assert set(VARIANTS) == {*TABLED, "neural-factors"}
    assert isinstance(build("unary"), UnaryClassifier)
    hidden = {row: build(row) for row in ("int+lin", "int+nrl", "int+lin-dagger", "3-layer")}
    found = {row: (model.part("unary").hidden, model.part("interaction").hidden) for row, model in hidden.items()}
    assert found == {
        "int+lin": ((256,), ()),
        "int+nrl": ((256,), (512,)),
        "int+lin-dagger": ((21,), ()),
        "3-layer": ((256, 256, 256), (512, 512, 512)),
    }
    for row, kind, units in (
        ("CP", CuttingPlaneSVM, None),
        ("SGD", StructuralSVM, ()),
        ("bif+nrl", StructuralSVM, (512,)),
    ):
        model = build(row)
        assert isinstance(model, Pipeline)
        assert isinstance(model[0], UnaryClassifier)
        assert isinstance(model[1], kind)
        assert model[1].plain_params().get("interaction__hidden") == units
        assert model[1].plain_params().get("unary__hidden", ()) == ()


def test_changes_reach_the_estimators(config):
    model = build("SGD", C=7.0, first__C=3.0)
    assert (model[0].C, model[1].C) == (3.0, 7.0)
    both = RunConfig("x", ("SGD", "int+nrl"), parameters={"*": {"first__C": 3.0}})
    assert build_model("SGD", both, 3, 60)[0].C == 3.0
    assert build_model("int+nrl", both, 3, 60).C == build("int+nrl").C
    common = RunConfig(
        "x", ("CP", "unary"), parameters={"*": {"trainer__learning_rate": 0.5, "C": 2.0}, "CP": {"C": 4.0}}
    )
    assert build_model("CP", common, 3, 60)[1].C == 4.0  # and no learning rate, which it does not have
    assert build_model("unary", common, 3, 60).trainer.learning_rate == 0.5


def test_cnn_features_have_settings_of_their_own():
    config = RunConfig("x", ("int+nrl", "SGD"), features={"features": "bow+cnn"})
    chosen = build_model("int+nrl", config, 3, 60).get_params()
    assert {name: chosen[name] for name in WITH_CNN} == WITH_CNN
    for other in (build_model("SGD", config, 3, 60)[1], build_model("int+nrl", RunConfig("x"), 3, 60)):
        assert other.part("unary").dropout == other.part("interaction").dropout == 0.0
    assert build_model("int+lin", config, 3, 60).interaction.hidden == ()  # what makes it this row
    assert build_model("3-layer", config, 3, 60).interaction.hidden == (512,) * 3


def test_context_is_learnt(finished):
    figures = {row: read(finished / "rows" / row / "metrics.json") for row in ("unary", "SGD", "int+nrl")}
    assert figures["int+nrl"]["pixel"] > figures["unary"]["pixel"] + 0.1
    assert figures["int+nrl"]["class_mean"] > figures["unary"]["class_mean"] + 0.1
    assert figures["int+nrl"]["ablation"]["unary"]["pixel"] < figures["int+nrl"]["pixel"] - 0.1
    assert figures["unary"]["ablation"]["joint"]["pixel"] == figures["unary"]["pixel"]


def test_run_folder_is_complete(finished, scenes):
    document = read(finished / "run.json")
    assert document["splits"] == {"train": 36, "val": 12, "test": 12}
    assert document["command"] == "a command"
    assert document["finished"]
    examples = RunFolder(finished).examples.read().names
    assert len(examples) == 12
    truths = {sample.name: sample.read_labels() for sample in ImageFolder(scenes)["test"]}
    for row in ("unary", "SGD", "int+nrl"):
        place = finished / "rows" / row
        state = read(place / "row.json")
        assert state["status"] == "done"
        assert state["epochs"] == len((place / "history.jsonl").read_text().splitlines())
        right = total = 0
        for example in examples:
            predicted = np.asarray(Image.open(place / "predictions" / f"{example}.png"))
            truth = np.asarray(Image.open(finished / "examples" / f"{example}.png"))
            np.testing.assert_array_equal(truth, np.where(truths[example] < 0, 255, truths[example]))
            right += int((predicted == truth)[truth < 255].sum())
            total += int((truth < 255).sum())
        assert read(place / "metrics.json")["pixel"] == pytest.approx(right / total)
    assert RunFolder(finished).row("int+nrl").metrics.read().interactions.shape == (7, 7)
    assert RunFolder(finished).row("unary").metrics.read().interactions is None


def test_resume_trains_only_what_is_left(finished, config, tmp_path):
    kept = (finished / "rows/SGD/row.json").read_bytes()
    [before] = (finished / "rows/int+nrl").glob("*.safetensors")
    model = before.read_bytes()
    row = RunFolder(finished).row("int+nrl")
    row.row.write(replace(row.row.read(), status="running"))
    assert [each.is_done for each in RunFolder(finished).rows()] == [True, True, False]
    resume(finished, Means(cache=finished.parent / "cache"))
    assert (finished / "rows/SGD/row.json").read_bytes() == kept
    assert RunFolder(finished).choose_row(None).variant == "int+nrl"
    [again] = (finished / "rows/int+nrl").glob("*.safetensors")
    assert again.read_bytes() == model


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_a_folder_that_another_process_works_in_is_left_alone(kind, tmp_path):
    more = {"compare": {"seeds": (0,)}, "tune": {"search": Search()}}.get(kind, {})
    run = Run(RunConfig("", ("SGD",), kind), {}, (), threads=1, versions={}, started="", **more)
    RunFolder(tmp_path).document.write(run)
    with alone_in(tmp_path), pytest.raises(ValueError, match="worked on by another process"):
        resume(tmp_path)
    with alone_in(tmp_path):  # no lock is left
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


STARTS = {
    "train": ("training", train),
    "compare": ("comparison", lambda config, out: compare(config, [0], out)),
    "tune": ("tuning.search", lambda config, out: tune(config, Search(2, ("C",)), out)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("kind", STARTS)
def test_a_run_that_another_process_begins_meanwhile_is_left_alone(
    kind, running, finished, scenes, tmp_path, monkeypatch
):
    """It begins after this one has seen an empty folder; whether it is still `running` or not."""
    module, start = STARTS[kind]
    out, other = tmp_path / "run", (finished / "run.json").read_bytes()

    def begin(_):
        out.mkdir(exist_ok=True)
        (out / "run.json").write_bytes(other)

    monkeypatch.setattr(sys.modules[f"neuralfactors.experiment.{module}"], "check_config", begin)
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 10}, parameters={"*": {"max_iter": 1}})
    out.mkdir()
    message = "worked on by another process" if running else "already holds a run|holds a run with other settings"
    with alone_in(out) if running else nullcontext(), pytest.raises((ValueError, FileExistsError), match=message):
        start(config, out)
    assert [path.name for path in out.iterdir()] == ["run.json"]
    assert (out / "run.json").read_bytes() == other


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_run_keeps_the_number_of_threads_it_began_with(config, tmp_path, threads):
    threads(1)
    folder = train(replace(config, variants=("int+nrl",)), tmp_path / "run")
    row = RunFolder(folder).row("int+nrl")
    [before] = [path.read_bytes() for path in row.path.glob("*.safetensors")]
    row.row.write(replace(row.row.read(), status="running"))
    threads(2)
    resume(folder)
    assert torch.get_num_threads() == 2
    same = [path.read_bytes() for path in row.path.glob("*.safetensors")] == [before]
    assert same  # of the bytes themselves, pytest would show the difference, for minutes


def test_failed_row_says_why(scenes, tmp_path):
    weights = {"unary": {"class_weight": [1.0, 2.0]}}  # there are seven classes
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 20}, parameters=weights)
    with pytest.raises(ValueError, match="class_weight"):
        train(config, tmp_path / "run")
    state = read(tmp_path / "run/rows/unary/row.json")
    assert state["status"] == "failed"
    assert "class_weight" in state["error"]
    assert not RunFolder(tmp_path / "run").row("unary").is_done


@pytest.mark.parametrize(
    ("row", "changes", "message"),
    [
        ("int+nrl", {"trainer__learning_rate": -1.0}, "'int+nrl' cannot be used: learning_rate must be positive"),
        ("SGD", {"first__trainer__optimizer": "magic"}, "'SGD' cannot be used: optimizer must be one of"),
        ("CP", {"C": 0}, "'CP' cannot be used: C must be positive"),
        (
            "int+lin",
            {"unary__dropout": 1.5},
            "'int+lin' cannot be used: dropout must be",
        ),
        ("unary", {"C": "much"}, "C of 'unary' must be a number, got 'much'"),
        ("SGD", {"interaction_C": "much"}, "interaction_C of 'SGD' must be a number, got 'much'"),
        ("SGD", {"C": None}, "C of 'SGD' must be a number, got None"),
        ("int+nrl", {"trainer__momentum": "auto"}, "trainer__momentum of 'int+nrl' must be a number, got 'auto'"),
        ("SGD", {"random_state": 3}, "has no parameter 'random_state'"),
        ("SGD", {"callbacks": "/tmp/x"}, "has no parameter 'callbacks'"),
        ("SGD", {"first__callbacks": "/tmp/x"}, "has no parameter 'first__callbacks'"),
        ("int+nrl", {"unary": "x"}, "has no parameter 'unary'"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_any_work(row, changes, message, scenes, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        train(RunConfig(str(scenes), (row,), parameters={row: changes}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_all_variants_pass_the_dry_run():
    for features in ("bow", "bow+cnn"):
        parameters = {"int+nrl": {"trainer__keep": "validation", "interaction_C": None, "class_weight": [1.0] * 21}}
        check_config(RunConfig("x", tuple(VARIANTS), features={"features": features}, parameters=parameters))


def test_auto_may_be_given_wherever_the_estimators_take_it():
    names = ("C", "interaction_C", "batch_size", "max_iter", "trainer__learning_rate")
    parameters = {"int+nrl": dict.fromkeys((*names, "trainer__interaction_learning_rate"), "auto")}
    check_config(RunConfig("x", ("int+nrl",), parameters=parameters))


def test_a_row_tells_the_settings_it_was_trained_with(scenes, tmp_path):
    parameters = {"*": {"max_iter": 1}}
    config = RunConfig(str(scenes), ("SGD",), features={"n_regions": 10}, parameters=parameters, seed=3, balance=0.5)
    place = train(config, tmp_path / "run") / "rows/SGD"
    told = read(place / "row.json")["settings"]
    assert list(told) == ["first", "model"]
    for name, settings in told.items():
        saved = read(place / "model.json")["parts"][name]["parameters"]
        assert settings["random_state"] == saved["random_state"] == 3
        assert settings["n_labels"] == saved["n_labels"] == 7
        assert settings["batch_size"] == saved["batch_size"] != "auto"


@pytest.mark.parametrize("change", ["classes", "images", "splits"])
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_a_run_does_not_go_on_with_other_data(kind, change, tmp_path):
    data = write_scenes(tmp_path / "data", 10, shape=(30, 40))
    if change == "images":
        shutil.rmtree(data / "splits")
    config = RunConfig(str(data), ("unary",), features={"n_regions": 10}, parameters={"*": {"max_iter": 1}})
    out = tmp_path / "run"
    if kind == "train":
        train(config, out)
    elif kind == "compare":
        compare(config, [0], out)
    else:
        tune(config, Search(2, ("C",)), out)
        (out / "trials.jsonl").unlink()
    place = out / "seed-0" if kind == "compare" else out
    for folder in (RunFolder(out), RunFolder(place)):
        folder.document.write(replace(folder.run(), finished=None))
    if kind != "tune":
        shutil.rmtree(place / "rows/unary")
    if change == "classes":
        lines = (data / "classes.txt").read_text().splitlines()
        (data / "classes.txt").write_text("\n".join(reversed(lines)))  # their order numbers the labels
    elif change == "images":
        for part in ("images", "labels"):
            next((data / part).glob("scene_0004*")).unlink()
    else:
        (data / "splits/train.txt").write_text("scene_0000\nscene_0001\n")
    with pytest.raises(ValueError, match="has other images, splits or classes than when the run began"):
        resume(out)


def test_evaluated_images_that_were_learnt_from_are_told(scenes, tmp_path, caplog):
    caplog.set_level("INFO")
    few = {"n_regions": 10}
    config = RunConfig(
        str(scenes), ("unary",), features=few, parameters={"*": {"max_iter": 1}}, splits=Splits("train+val")
    )
    train(config, tmp_path / "run")
    assert "12 to evaluate (12 of them are learnt from, too)" in caplog.text


def test_saved_row_is_a_segmenter(finished, scenes):
    segmenter = Segmenter.load(finished / "rows/SGD", features=finished / "features")
    sample = ImageFolder(scenes)["test"][0]
    predicted = np.asarray(Image.open(finished / "rows/SGD/predictions" / f"{sample.name}.png"))
    np.testing.assert_array_equal(segmenter.predict(sample.image_path), predicted)


@pytest.mark.parametrize("changes", [{"features": {"x": 1}}, {"parameters": {"SGD": {"tensorboard": "/tmp/x"}}}])
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_a_strangers_run_with_settings_that_nothing_knows_is_not_resumed(kind, changes, tmp_path):
    more = {"compare": {"seeds": (0,)}, "tune": {"search": Search()}}.get(kind, {})
    run = Run(RunConfig(str(tmp_path), ("SGD",), kind, **changes), {}, (), threads=1, versions={}, started="", **more)
    RunFolder(tmp_path).document.write(run)
    with pytest.raises(FileFormatError, match="holds a run that cannot be resumed: "):
        resume(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
