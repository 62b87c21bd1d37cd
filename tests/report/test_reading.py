import re
import shutil

import pytest

from neuralfactors.report import write_report

from .conftest import ROWS, read_json, write_json


def problems(run):
    page = write_report(run).read_text(encoding="utf-8")
    listed = re.search(r'<ul id="problems">(.*?)</ul>', page, re.S)
    return re.findall(r"<li>(.*?)</li>", listed.group(1)) if listed else [], page


def test_whole_run_has_no_problems(make_run):
    assert problems(make_run())[0] == []


@pytest.mark.parametrize(
    "path",
    [
        "examples.json",
        "rows/SGD/row.json",
        "rows/SGD/metrics.json",
        "rows/SGD/history.jsonl",
        "rows/SGD/predictions/first.png",
    ],
)
def test_missing_file_is_named_and_the_rest_shown(make_run, path):
    run = make_run()
    (run / path).unlink()
    found, page = problems(run)
    assert f"{path} is missing" in found
    pixel = read_json(run / "rows/int+nrl/metrics.json")["pixel"]
    assert f">{pixel:.1f}</td>" in page


@pytest.mark.parametrize("path", ["run.json", "examples.json", "rows/SGD/row.json", "rows/SGD/metrics.json"])
@pytest.mark.parametrize("text", ["", '{"format": 1, "pix', "[1, 2]", '"text"', "\x00\xff"])
def test_damaged_json_is_named_and_the_rest_shown(make_run, path, text):
    run = make_run()
    (run / path).write_text(text, encoding="latin-1")
    found, page = problems(run)
    wrong = ("is truncated or altered: it is not JSON", "must hold a JSON object")
    assert any(problem.startswith(tuple(f"{path} {words}" for words in wrong)) for problem in found)
    pixel = read_json(run / "rows/int+nrl/metrics.json")["pixel"]
    assert f">{pixel:.1f}</td>" in page


def test_missing_run_json_leaves_the_rows(make_run):
    run = make_run()
    (run / "run.json").unlink()
    found, page = problems(run)
    assert "run.json is missing" in found
    assert "run.json does not list the classes; the rows show 3 of them" in found
    assert "</span>water</th>" in page  # named by interactions.json


def test_history_cut_in_a_line_keeps_the_lines_before(make_run):
    run = make_run()
    path = run / "rows/SGD/history.jsonl"
    path.write_text(path.read_text()[:-40])
    found, page = problems(run)
    assert found == ["rows/SGD/history.jsonl has 1 damaged line, left out"]
    assert page.count('data-series="SGD"') == 4


def test_failed_and_running_rows_say_why(make_run):
    run = make_run()
    for row, change in (
        ("CP", {"status": "failed", "error": "out of <memory>"}),
        ("3-layer", {"status": "running"}),
    ):
        for name in ("metrics.json", "interactions.json"):
            (run / "rows" / row / name).unlink()
        path = run / "rows" / row / "row.json"
        write_json(path, {**read_json(path), **change})
    found, page = problems(run)
    assert found == ["CP failed: out of &lt;memory&gt;", "3-layer is not finished: its status is running"]
    assert '<span class="status warn">failed</span>' in page
    assert '<span class="status warn">running</span>' in page


def test_run_just_started(make_run):
    run = make_run()
    shutil.rmtree(run / "rows")
    shutil.rmtree(run / "examples")
    (run / "examples.json").unlink()
    found, page = problems(run)
    assert found == ["there is no finished or started row in rows/", "examples.json is missing"]
    for text in ("There is no row to show", "No row has a history", "no example pictures", "No row has a confusion"):
        assert text in page


@pytest.mark.parametrize("what", ["picture", "truth", "size", "rgb", "outside"])
def test_unusable_examples_are_left_out(make_run, what):
    from PIL import Image

    run = make_run()
    if what == "picture":
        data = (run / "examples/first.jpg").read_bytes()
        (run / "examples/first.jpg").write_bytes(data[: len(data) // 3])
    elif what == "truth":
        (run / "examples/first.png").unlink()
    elif what == "size":
        Image.new("L", (30, 40)).save(run / "examples/first.png")
    elif what == "rgb":
        Image.new("RGB", (60, 40)).save(run / "examples/first.png")
    else:
        images = read_json(run / "examples.json")["images"]
        write_json(run / "examples.json", {"images": [{**images[0], "image": "../../secret.jpg"}, images[1]]})
    found, page = problems(run)
    assert len(found) == 1
    assert found[0].startswith("the example first is left out: ")
    assert page.count('class="example"') == 1


def test_damaged_prediction_leaves_the_example(make_run):
    run = make_run()
    (run / "rows/SGD/predictions/first.png").write_bytes(b"no picture")
    found, page = problems(run)
    assert len(found) == 1
    assert found[0].startswith("the prediction of SGD for first is left out: ")
    assert page.count('class="example"') == 2


@pytest.mark.parametrize(
    "values",
    [
        {"pixel": None, "class_mean": "high", "mean_iou": float("nan")},
        {"per_class": [1.0], "confusion": [[1, 2], [3]]},
        {"per_class": None, "confusion": "none", "ablation": {"unary": 3}},
        {"confusion": [[float("nan")] * 3] * 3, "ablation": {"joint": {"pixel": None}}},
    ],
)
def test_unusable_figures_become_dashes(make_run, values):
    run = make_run(rows=("SGD", "int+nrl"))
    path = run / "rows/SGD/metrics.json"
    write_json(path, {**read_json(path), **values})
    _, page = problems(run)
    visible = re.sub(r"data:image[^\"]*", "", page)
    assert not re.search(r"\b(NaN|nan|None|inf)\b", visible.partition("<main")[2].partition("<footer")[0])
    assert 'data-row="SGD"' in page


def test_class_that_does_not_occur_is_absent_not_zero(make_run):
    run = make_run()
    path = run / "rows/SGD/metrics.json"
    metrics = read_json(path)
    metrics["per_class"][1] = None
    metrics["confusion"][1] = [0, 0, 0]
    write_json(path, metrics)
    found, page = problems(run)
    assert found == []
    assert ">absent</text>" in page


def test_run_without_test_images_says_so_once(make_run):
    run = make_run(rows=("int+nrl",))
    info = read_json(run / "run.json")
    write_json(run / "run.json", {**info, "splits": {"train": 6, "val": 0, "test": 0}})
    (run / "examples.json").unlink()
    (run / "rows/int+nrl/metrics.json").unlink()
    assert problems(run)[0] == ["the run has no test images, so nothing was evaluated"]


def test_row_of_another_format_is_left_out(make_run):
    run = make_run()
    path = run / "rows/SGD/row.json"
    write_json(path, {**read_json(path), "format": 3})
    found, page = problems(run)
    assert found == ["rows/SGD is left out: it is of format 3, but this version reads 2"]
    assert page.count('<tr data-row="SGD"') == 0


def test_row_that_the_paper_does_not_have_is_shown_last(make_run):
    page = problems(make_run(rows=(*ROWS, "my own")))[1]
    table = page[page.index('id="rows-table"') :]
    assert re.findall(r'<tr data-row="(.*?)"', table)[: len(ROWS) + 1] == [*ROWS, "my own"]


def test_no_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere is no folder: a run was expected there"):
        write_report(tmp_path / "nowhere")


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="it is not a run folder"):
        write_report(tmp_path)


@pytest.mark.parametrize("version", [1, 3, "new", None])
def test_another_format_is_refused(make_run, version):
    run = make_run()
    write_json(run / "run.json", {**read_json(run / "run.json"), "format": version})
    with pytest.raises(ValueError, match=r"run\.json is of format .* but this version reads 2"):
        write_report(run)


def test_bad_out_is_refused(make_run, tmp_path):
    run = make_run()
    with pytest.raises(ValueError, match=r"out must be a file, but .* is a folder"):
        write_report(run, out=tmp_path)
    with pytest.raises(FileNotFoundError, match="out must be in a folder that exists"):
        write_report(run, out=tmp_path / "no" / "page.html")
