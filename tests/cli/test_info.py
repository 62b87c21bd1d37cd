"""info: what a run folder holds, and folders that it refuses."""

import json
import shutil

from commands import refused

from neuralfactors._common.files import sealed


def test_info(call, trained):
    result = call("info", trained)
    assert result.code == 0
    assert "scenes (7 train, 3 val)" in result.out
    assert "int+nrl" in result.out
    document = json.loads(call("info", trained, "--json").out)
    assert f"about {document['regions']['mean']} an image; ceiling " in result.out
    assert not document["regions"]["chosen"]
    assert document["rows"][0]["row"]["status"] == "done"


def test_info_names_the_damaged_file(call, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    metrics = tmp_path / "run/rows/int+nrl/metrics.json"
    metrics.write_text(metrics.read_text()[:50])
    result = call("info", tmp_path / "run")
    assert result.code == 1
    assert f"{metrics} is truncated or altered: it is not JSON" in result.err


def test_run_folder_of_a_newer_version(call, trained, scenes, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    document = json.loads((trained / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**document, "format": 99}))
    for words in (["info", run], ["resume", run], ["predict", run, scenes / "images", "--out", tmp_path / "maps"]):
        refused(call(*words), "format 99", "update neuralfactors")


def test_no_run_folder_and_a_damaged_one(call, tmp_path):
    refused(call("info", tmp_path), "is not a run folder")
    (tmp_path / "run.json").write_text('{"format": 4')
    refused(call("info", tmp_path), "run.json", "truncated or altered")


def test_a_run_of_another_shape(call, scenes, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(sealed({"format": 4})))
    pictures = scenes / "images"
    for name, *words in (["info"], ["resume"], ["evaluate", scenes], ["predict", pictures, "--out", tmp_path / "maps"]):
        refused(call(name, tmp_path, *words), "run.json does not describe a run")
