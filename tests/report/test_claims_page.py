"""docs/claims.py: the page of claims, made of an experiment's record alone."""

import importlib.util
import sys
from pathlib import Path

import pytest

from neuralfactors._runs import RunConfig
from neuralfactors._runs.claims import ClaimFigures, ClaimsReport, Interval, SideFigures, claims_document

from .conftest import read_json

SCRIPT = Path(__file__).parents[2] / "docs/claims.py"
PARTS = {part: {"pixel": 0.5, "class_mean": 0.25} for part in ("unary", "interaction", "joint")}


@pytest.fixture
def write_page(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("claims", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def write(*runs, docs=tmp_path):
        monkeypatch.setattr(sys, "argv", ["claims.py", *map(str, runs), "--docs", str(docs)])
        module.main()
        return (docs / "claims.md").read_text(encoding="utf-8")

    return write


def write_report(folder, preset, gain, key="integrated-linear", seeds=(0, 1)):
    found = {"pixel": Interval(gain, gain - 0.01, gain + 0.01), "class_mean": Interval(0.0, -0.02, 0.02)}
    sides = [SideFigures(name, {"rate": 0.01}, PARTS) for name in ("free", "frozen")]
    claim = ClaimFigures(key, "It beats", "weak", *sides, found, {"part": found})
    command = f"neuralfactors claims /somewhere/images --preset kitti --claims {key} --out /elsewhere"
    settings = RunConfig("/somewhere/images", preset=preset)
    claims_document(folder).write(ClaimsReport(settings, {"C": 3.0}, seeds, 4, 46, command, (claim,)))
    return folder


def test_page_has_differences_verdicts_and_the_command(write_page, tmp_path):
    page = write_page(write_report(tmp_path / "run", "kitti", 0.03))
    assert "| It beats | weak | +3.0 (+2.0 to +4.0) | +0.0 (−2.0 to +2.0) | holds |" in page
    assert "| integrated-linear | weak | free | 50.0 / 25.0 | 50.0 / 25.0 | 50.0 / 25.0 | 0.01 |" in page
    assert "| integrated-linear | weak | over the better part alone | +3.0" in page
    assert "46 test images, seeds 0, 1, 4 trials a side." in page
    assert "$ neuralfactors claims DATA --preset kitti --claims integrated-linear --out RUN" in page
    assert "All sides share `C` 3." in page
    assert "where" not in (tmp_path / "claims.json").read_text()  # neither somewhere nor elsewhere


def test_sets_are_added_one_at_a_time(write_page, tmp_path):
    write_page(write_report(tmp_path / "kitti", "kitti", 0.03))
    page = write_page(write_report(tmp_path / "msrc", "msrc21", -0.03))
    assert page.index("## MSRC-21") < page.index("## KITTI")
    assert list(read_json(tmp_path / "claims.json")) == ["kitti", "msrc21"]
    assert write_page() == page  # of the data alone


def test_claims_of_one_experiment_are_added_one_at_a_time(write_page, tmp_path):
    write_page(write_report(tmp_path / "run", "kitti", 0.03))
    page = write_page(write_report(tmp_path / "more", "kitti", -0.03, key="dagger"))
    assert page.count("## KITTI") == 1
    for key, gain in ("integrated-linear", "+3.0"), ("dagger", "−3.0"):
        assert f"--claims {key} --out RUN" in page
        assert f"| It beats | weak | {gain}" in page
    again = write_page(write_report(tmp_path / "again", "kitti", 0.05))
    assert "+3.0" not in again  # a claim that is tested once more has its new figures
    assert again.count("| It beats | weak | +5.0") == 1
    assert again.count("--claims integrated-linear") == 1


def test_claims_of_another_experiment_replace_all_of_a_set(write_page, tmp_path):
    write_page(write_report(tmp_path / "run", "kitti", 0.03))
    page = write_page(write_report(tmp_path / "more", "kitti", -0.03, key="dagger", seeds=(0, 1, 2)))
    assert "integrated-linear" not in page


def test_runs_without_a_preset_have_no_place(write_page, tmp_path):
    with pytest.raises(SystemExit, match="holds no claims of a preset"):
        write_page(write_report(tmp_path / "own", None, 0.0))


def test_committed_page_is_that_of_the_committed_data(write_page, tmp_path):
    if not SCRIPT.with_name("claims.json").exists():
        pytest.skip("no claims have been tested yet")
    (tmp_path / "claims.json").write_bytes(SCRIPT.with_name("claims.json").read_bytes())
    assert write_page() == SCRIPT.with_name("claims.md").read_text(encoding="utf-8")
