"""Comparisons with several seeds: mean and spread, findings seed by seed, and what is missing is said."""

import re
import shutil
import statistics
from dataclasses import replace

import pytest

from neuralfactors._common.ceiling import Ceiling
from neuralfactors._report import compare_with_paper, read_results, write_report
from neuralfactors._runs import Accuracy, Regions, RunFolder
from neuralfactors._runs.documents import FORMAT

from .conftest import MSRC21, ROWS, change_json, read_json
from .test_page import Cells, signed
from .test_results import problems


def values(run, row, key):
    return [read_json(path)[key] for path in sorted(run.glob(f"seed-*/rows/{row}/metrics.json"))]


def test_means_and_spreads_stand_beside_the_paper(make_comparison):
    run = make_comparison(MSRC21, preset="msrc21")
    found, page = problems(run)
    assert found == []
    cells = Cells(page).found
    for row in ROWS:
        pixels = [100 * share for share in values(run, row, "pixel")]
        assert cells[row, "pixel"] == f"{statistics.fmean(pixels):.1f}± {statistics.stdev(pixels):.1f}"
        iou = [100 * share for share in values(run, row, "mean_iou")]
        assert cells[row, "mean_iou"] == f"{statistics.fmean(iou):.1f}± {statistics.stdev(iou):.1f}"
    assert cells["SGD", "pixel-difference"] == signed(100 * statistics.fmean(values(run, "SGD", "pixel")) - 59.2)
    assert "means over 3 seeds" in page
    assert page.count('class="whisker"') == 2 * len(ROWS)


def test_what_lies_below_the_results_is_of_the_first_seed(make_comparison):
    run = make_comparison()
    page = write_report(run).read_text(encoding="utf-8")
    assert "Epochs and seconds, and the figures in the sections below, are from one seed" in page
    first = write_report(run / "seed-0").read_text(encoding="utf-8")
    for section in ("classes", "confusion", "curves", "synergy", "examples", "interactions", "timings"):
        parts = [re.search(rf'<section id="{section}".*?</section>', text, re.S).group() for text in (page, first)]
        assert parts[0] == parts[1]


def test_one_seed_looks_like_a_run(make_comparison):
    page = write_report(make_comparison(shifts=(0.0,))).read_text(encoding="utf-8")
    assert "means over" not in page
    assert "of one run with one seed" in page
    assert 'class="whisker"' not in page


def test_missing_seeds_and_files_are_named_and_the_rest_shown(make_comparison):
    run = make_comparison()
    (run / "seed-0/rows/SGD/metrics.json").unlink()
    (run / "seed-1/run.json").write_text("{")
    shutil.rmtree(run / "seed-2")
    found, page = problems(run)
    assert "seed-0: rows/SGD/metrics.json is missing" in found
    assert "seed-1 was left out: seed-1/run.json is truncated or altered: it is not JSON" in found
    assert "seed-2 has not started" in found
    cells = Cells(page).found
    assert cells["SGD", "pixel"] == "–"
    (pixel,) = [read_json(run / "seed-0/rows/int+nrl/metrics.json")["pixel"]]
    assert cells["int+nrl", "pixel"] == f"{100 * pixel:.1f}"


@pytest.mark.parametrize(
    ("spoil", "problem"), [("empty", "no variant has started yet"), ("newer", "seed-1 was left out: ")]
)
def test_comparison_renders_whatever_its_seeds_are_like(make_comparison, spoil, problem):
    run = make_comparison()
    if spoil == "empty":
        for seed in range(3):
            shutil.rmtree(run / f"seed-{seed}")
    else:
        change_json(run / "seed-1/run.json", format=FORMAT + 1)
    found, page = problems(run)
    assert any(each.startswith(problem) for each in found)
    assert ("±" in Cells(page).found.get(("SGD", "pixel"), "")) == (spoil != "empty")


@pytest.mark.parametrize("spoil", ["missing", "damaged"])
def test_comparison_that_cannot_be_read_is_refused(make_comparison, spoil):
    run = make_comparison()
    (run / "run.json").unlink()
    if spoil == "damaged":
        (run / "run.json").write_text("[")
    with pytest.raises((ValueError, FileNotFoundError), match=r"run\.json"):
        write_report(run)


def test_figures_hold_every_seed(make_comparison):
    run = make_comparison(names=("sky", "building", "road"), preset="kitti")
    figures = compare_with_paper(read_results(run))
    assert [info.name for info in figures.run.classes] == ["sky", "building", "road"]
    (row,) = [row for row in figures.rows if row.variant == "int+lin-dagger"]
    assert list(row.pixel.by_seed.values()) == values(run, "int+lin-dagger", "pixel")
    classes = values(run, "int+lin-dagger", "per_class")
    assert row.per_class == pytest.approx([statistics.fmean(column) for column in zip(*classes, strict=True)])
    joint = [ablation["joint"]["pixel"] for ablation in values(run, "int+lin-dagger", "ablation")]
    assert row.ablation["joint"]["pixel"].ours == pytest.approx(statistics.fmean(joint))
    assert row.pixel.difference == pytest.approx(row.pixel.ours - 0.692)
    assert (figures.split, figures.n_images) == ("test", 2)


def test_figures_of_nothing_evaluated(make_run):
    run = make_run(rows=("SGD",))
    (run / "rows/SGD/metrics.json").unlink()
    figures = compare_with_paper(read_results(run))
    assert (figures.split, figures.n_images) == (None, None)


def test_unary_joint_and_ceiling_stand_side_by_side(make_run):
    run = RunFolder(make_run(rows=("unary", "int+nrl")))
    page = write_report(run.path).read_text(encoding="utf-8")
    assert 'id="rooms"' not in page  # runs from before ceilings were measured
    row = run.row("int+nrl")
    row.metrics.write(replace(row.metrics.read(), ceiling=Accuracy(0.876, 0.765)))
    run.regions.write(Regions(300, 30.0, True, 287, Ceiling(0.9, 0.7, (0.95, None, 0.45))))
    page = write_report(run.path).read_text(encoding="utf-8")
    table = re.search(r'<table id="rooms".*?</table>', page, re.S).group()
    parts = row.metrics.read().ablation
    pixel, mean = ([f"{100 * getattr(p, k):.1f}" for p in (parts.unary, parts.joint)] for k in ("pixel", "class_mean"))
    expected = [*pixel, "87.6", *mean, "76.5"]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", table) == expected
    assert "about 287 regions, a number chosen by the labels" in page
    assert "70.0 % on average over classes (45 % of grass); take more regions, such as 900" in page
