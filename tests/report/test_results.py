import re
import shutil

import pytest

from neuralfactors._report import write_report
from neuralfactors._runs.documents import FORMAT

from .conftest import change_json, read_json, write_json


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
    ],
)
def test_missing_file_is_named_and_the_rest_shown(make_run, path):
    run = make_run()
    (run / path).unlink()
    found, page = problems(run)
    assert f"{path} is missing" in found
    pixel = read_json(run / "rows/int+nrl/metrics.json")["pixel"]
    assert f">{100 * pixel:.1f}</td>" in page


@pytest.mark.parametrize("path", ["examples.json", "rows/SGD/row.json", "rows/SGD/metrics.json"])
@pytest.mark.parametrize("text", ["", '{"format": 1, "pix', "[1, 2]", '"text"', "\x00\xff"])
def test_damaged_json_is_named_and_the_rest_shown(make_run, path, text):
    run = make_run()
    (run / path).write_text(text, encoding="latin-1")
    found, page = problems(run)
    wrong = ("is truncated or altered: it is not JSON", "was not written by neuralfactors")
    assert any(problem.startswith(tuple(f"{path} {words}" for words in wrong)) for problem in found)
    pixel = read_json(run / "rows/int+nrl/metrics.json")["pixel"]
    assert f">{100 * pixel:.1f}</td>" in page


@pytest.mark.parametrize("text", ["", '{"format": 1, "pix', "[1, 2]", '"text"', "\x00\xff"])
def test_damaged_run_is_refused(make_run, text):
    run = make_run()
    (run / "run.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"run\.json (is truncated or altered|was not written by neuralfactors)"):
        write_report(run)


def test_missing_prediction_is_named_and_the_rest_shown(make_run):
    run = make_run()
    (run / "rows/SGD/predictions/first.png").unlink()
    found, page = problems(run)
    assert found == ["the prediction of SGD for first was left out: rows/SGD/predictions/first.png is missing"]
    assert page.count('class="example"') == 2


def test_history_cut_in_a_line_is_left_out(make_run):
    run = make_run()
    path = run / "rows/SGD/history.jsonl"
    path.write_text(path.read_text()[:-40])
    found, page = problems(run)
    assert found == ["line 20 of rows/SGD/history.jsonl is truncated or altered: it is not JSON"]
    assert page.count('data-series="SGD"') == 0
    assert page.count('data-series="CP"') == 4


def test_failed_and_unfinished_rows_say_why(make_run):
    run = make_run()
    for row, change in (
        ("CP", {"status": "failed", "error": "out of <memory>"}),
        ("3-layer", {"status": "unfinished"}),
    ):
        (run / "rows" / row / "metrics.json").unlink()
        change_json(run / "rows" / row / "row.json", **change)
    found, page = problems(run)
    assert found == ["CP failed: out of &lt;memory&gt;", "3-layer is not finished"]
    assert '<span class="status warn">failed</span>' in page
    assert '<span class="status warn">unfinished</span>' in page


def test_run_just_started(make_run):
    run = make_run()
    shutil.rmtree(run / "rows")
    shutil.rmtree(run / "examples")
    (run / "examples.json").unlink()
    found, page = problems(run)
    assert found == ["no variant has started", "examples.json is missing"]
    for text in (
        "There are no rows yet",
        "No row has recorded its epochs",
        "no example pictures",
        "No row has a confusion",
    ):
        assert text in page


@pytest.mark.parametrize("what", ["picture", "truth", "size", "rgb", "link"])
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
        (run / "examples/first.jpg").rename(run.parent / "secret.jpg")
        (run / "examples/first.jpg").symlink_to(run.parent / "secret.jpg")
    found, page = problems(run)
    assert len(found) == 1
    assert found[0].startswith("the example first was left out: ")
    assert page.count('class="example"') == 1


@pytest.mark.parametrize("name", ["../first", "/etc/first", "a/b"])
def test_examples_elsewhere_are_refused(make_run, name):
    run = make_run()
    change_json(run / "examples.json", names=[name, "second"])
    found, page = problems(run)
    assert found == [
        f"examples.json does not describe examples: an example must have a plain name, got {name!r}".replace(
            "'", "&#39;"
        )
    ]
    assert page.count('class="example"') == 0


def test_damaged_prediction_leaves_the_example(make_run):
    run = make_run()
    (run / "rows/SGD/predictions/first.png").write_bytes(b"no picture")
    found, page = problems(run)
    assert len(found) == 1
    assert found[0].startswith("the prediction of SGD for first was left out: ")
    assert page.count('class="example"') == 2


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"class_mean": "high"}, "class_mean must be of type float, got str"),
        ({"mean_iou": float("nan")}, "mean_iou must be finite, got nan"),
        ({"pixel": 70.1}, "pixel must be a share from 0 to 1, got 70.1"),
        ({"per_class": [1.0]}, "per_class, iou and the tables must have the same number of classes"),
        ({"confusion": [[1, 2], [3]]}, "confusion must be a table"),
        ({"confusion": [[float("nan")] * 3] * 3}, "confusion must be a table of finite numbers"),
        ({"ablation": {"unary": 3}}, "interaction is missing"),
        ({"colour": "blue"}, "metrics has an unknown key &#39;colour&#39;"),
    ],
)
def test_unusable_figures_are_left_out_and_named(make_run, values, reason):
    run = make_run(rows=("SGD", "int+nrl"))
    change_json(run / "rows/SGD/metrics.json", **values)
    found, page = problems(run)
    assert len(found) == 1
    assert found[0].startswith(f"rows/SGD/metrics.json does not describe metrics: {reason}")
    assert 'data-row="SGD"' in page


def test_figures_of_another_number_of_classes_are_left_out(make_run):
    run, other = make_run(rows=("SGD",)), make_run(names=("sky", "road"), rows=("SGD",), folder="other")
    shutil.copy(other / "rows/SGD/metrics.json", run / "rows/SGD/metrics.json")
    assert problems(run)[0] == ["rows/SGD/metrics.json has 2 classes, but the run 3"]


def test_nothing_labelled_becomes_dashes(make_run):
    run = make_run(rows=("SGD", "int+nrl"))
    change_json(run / "rows/SGD/metrics.json", pixel=None, class_mean=None, mean_iou=None)
    found, page = problems(run)
    assert found == []
    visible = re.sub(r"data:image[^\"]*", "", page)
    assert not re.search(r"\b(NaN|nan|None|inf)\b", visible.partition("<main")[2].partition('id="settings"')[0])


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
    change_json(run / "run.json", splits={"train": 6, "val": 0, "test": 0})
    (run / "examples.json").unlink()
    (run / "rows/int+nrl/metrics.json").unlink()
    assert problems(run)[0] == ["the run has no test images, so nothing was evaluated"]


def test_row_of_another_format_is_left_out(make_run):
    run = make_run()
    change_json(run / "rows/SGD/row.json", format=FORMAT + 1)
    found, page = problems(run)
    assert found == [f"rows/SGD/row.json has format {FORMAT + 1}, newer than {FORMAT}: update neuralfactors to read it"]
    assert page.count('<tr data-row="SGD"') == 0


def test_row_of_another_variant_is_left_out(make_run):
    run = make_run()
    shutil.copy(run / "rows/CP/row.json", run / "rows/SGD/row.json")
    assert problems(run)[0] == ["rows/SGD/row.json belongs to another variant, CP"]


def test_no_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a folder: expected a run there"):
        write_report(tmp_path / "nowhere")


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not a run folder: it has no run\.json"):
        write_report(tmp_path)


@pytest.mark.parametrize("version", [1, FORMAT - 1, FORMAT + 1, "new", None])
def test_another_format_is_refused(make_run, version):
    run = make_run()
    change_json(run / "run.json", format=version)
    with pytest.raises(ValueError, match=rf"run\.json (has format \d, (older|newer) than {FORMAT}|was not written by)"):
        write_report(run)


def test_bad_out_is_refused(make_run, tmp_path):
    run = make_run()
    with pytest.raises(ValueError, match=r"out must be a file, but .* is a folder"):
        write_report(run, out=tmp_path)
    with pytest.raises(FileNotFoundError, match="out must be in a folder that exists"):
        write_report(run, out=tmp_path / "no" / "page.html")
