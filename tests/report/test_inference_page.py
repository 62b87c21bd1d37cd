"""docs/inference.py: the page and the picture of inference on public problems."""

import copy
import importlib.util
import sys
from pathlib import Path

import pytest

from .conftest import read_json, write_json

SCRIPT = Path(__file__).parents[2] / "docs/inference.py"
CURVES = {
    "auto": [[0.01, -4.2, -3.0, False, 0.01], [1.0, -4.0, -4.0, True, 0.3]],
    "trws": [[0.01, None, None, False, 0.01], [1.0, -5.0, -3.0, False, 1.0]],
    "exact": [[0.01, -4.0, -4.0, True, 0.2], [1.0, -4.0, -4.0, True, 0.2]],
    "toulbar2": [[1.0, None, None, False, 1.5]],
}
PROBLEM = {
    "nodes": 3, "edges": 2, "labels": 4, "best": {"score": -4.0, "by": "auto, 1 s", "proved": True}, "reference": -4.1,
    "default": [0.2, -4.0, -4.0, True, 0.2], "rivals": {}, "curves": CURVES,
}  # fmt: skip
RECORD = {
    "machine": "A machine, 2 cores", "load": 1.5, "versions": {"Python": "3.11"}, "commit": "abc1234",
    "seconds": 1.0, "times": [0.01, 1.0],
    "targets": [{"case": "auto", "metric": "gap", "value": 2.0, "target": 1, "holds": False, "at_least": False}],
    "notes": ["A note."], "problems": {"toy/a": PROBLEM},
}  # fmt: skip


@pytest.fixture
def write_page(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("inference_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["inference.py", "--docs", str(tmp_path)])

    def write(record):
        write_json(tmp_path / "inference.json", record)
        module.main()
        return (tmp_path / "INFERENCE.md").read_text(encoding="utf-8")

    return write


def line(page, start):
    return next(line for line in page.splitlines() if line.startswith(f"| {start} |"))


def test_page_holds_the_figures(write_page, tmp_path):
    page = write_page(RECORD)
    assert line(page, "`auto`") == "| `auto` | 5 / 0 | 0 / 100 | 0 |"
    assert line(page, "`trws`") == "| `trws` | – / 0 | 25 / 0 | 25 |"
    assert line(page, "`exact`") == "| `exact` | 0 / 100 (0.2 s) | 0 / 100 | 0 |"
    assert line(page, "toulbar2") == "| toulbar2 |  | – / 0 (1.5 s) | – |"
    assert line(page, "toy") == "| toy | 1 | 0.2 | 0.2 | 0 | 100 | 0 |"
    assert line(page, "toy/a") == "| toy/a | -4.0000 | auto, 1 s | yes | -4.1000 | 0 |"
    assert line(page, "auto: gap") == "| auto: gap | 2 | ≤ 1 | **misses** |"
    assert "1 problem: 3 nodes, 2 edges, 4 labels." in page
    assert "--seconds 1 " in page
    assert "- A note." in page
    assert (tmp_path / "inference.svg").read_text(encoding="utf-8").count("toy (1)") >= 1


def test_means_leave_out_problems_without_a_labelling_and_say_so(write_page):
    record = copy.deepcopy(RECORD)
    other = copy.deepcopy(PROBLEM)
    other["nodes"] = 9
    other["curves"]["auto"][0][1] = None
    record["problems"]["toy/b"] = other
    page = write_page(record)
    assert line(page, "`auto`").startswith("| `auto` | 5 (1 without) / 0 |")
    assert "2 problems: 3 to 9 nodes, 2 edges, 4 labels." in page


def test_methods_that_were_not_measured_have_no_line(write_page):
    record = copy.deepcopy(RECORD)
    del record["problems"]["toy/a"]["curves"]["toulbar2"]
    assert "\n| toulbar2 |" not in write_page(record)


def test_committed_page_is_that_of_the_committed_data(write_page):
    data = SCRIPT.with_name("inference.json")
    assert write_page(read_json(data)) == SCRIPT.with_name("INFERENCE.md").read_text(encoding="utf-8")


def test_committed_page_and_record_agree_on_the_best_scores():
    best = read_json(SCRIPT.parents[1] / "benchmarks/best_uai.json")
    for name, problem in read_json(SCRIPT.with_name("inference.json"))["problems"].items():
        assert problem["best"]["score"] <= best[name]["score"] + 1e-9 * abs(best[name]["score"])
