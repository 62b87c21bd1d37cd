"""docs/results.py: the page and the data of results, one set at a time."""

import importlib.util
import sys
from pathlib import Path

import pytest

from neuralfactors._experiment import Preset
from neuralfactors._runs import Epoch, variant_key
from neuralfactors._runs.documents import Lines

from .conftest import ROWS, change_json, read_json

SCRIPT = Path(__file__).parents[2] / "docs/results.py"
KITTI = ("sky", "building", "road", "sidewalk", "fence", "vegetation", "pole", "car")


@pytest.fixture
def write_results(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("results", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "docs").mkdir()

    def write(*runs):
        monkeypatch.setattr(sys, "argv", ["results.py", *map(str, runs), "--docs", str(tmp_path / "docs")])
        module.main()
        return read_json(tmp_path / "docs/results.json"), (tmp_path / "docs/RESULTS.md").read_text(encoding="utf-8")

    return write


def change_settings(run, **settings):
    """Change what a comparison and its runs were asked for."""
    for folder in (run, *run.glob("seed-*")):
        path = folder / "run.json"
        change_json(path, settings={**read_json(path)["settings"], **settings})


def line(page, start):
    return next(line for line in page.splitlines() if line.startswith(f"| {start} |"))


def test_data_and_page_hold_the_figures(make_comparison, write_results):
    run = make_comparison(KITTI, preset="kitti")
    results, page = write_results(run)
    rows = results["kitti"]["bow"]
    assert list(rows) == ["int†+lin" if row == "int+lin-dagger" else row for row in ROWS]
    row = rows["int+nrl"]
    assert row["seeds"] == [0, 1, 2]
    assert row["seconds_per_epoch"] == 3.0
    assert len(row["per_class"]) == 8
    pixels = [read_json(run / f"seed-{seed}/rows/int+nrl/metrics.json")["pixel"] for seed in range(3)]
    assert row["pixel"] == pytest.approx(100 * sum(pixels) / 3, abs=1e-4)
    assert f"| {row['pixel']:.1f} ± {row['pixel_std']:.1f} | 75.6 |" in line(page, "int+nrl")
    assert "(paper 4.3)" in line(page, "int+nrl")
    assert (
        "--preset kitti --features bow --variants 'unary,CP,SGD,int+lin,bif+nrl,int+nrl,int†+lin,3-layer' --seeds 3"
        in page
    )
    verdicts = [text for text in page.splitlines() if "int+nrl against bif+nrl" in text]
    assert "| 3 | +5.6 / +5.0 |" in verdicts[0]
    assert str(run) not in page


def test_sets_features_and_rows_are_added_one_at_a_time(make_comparison, write_results, tmp_path):
    first, page = write_results(make_comparison(KITTI, preset="kitti", rows=("SGD", "unary")))
    other = make_comparison(KITTI, preset="kitti", rows=("CP", "SGD"), shifts=(0.02,), folder="other")
    second, _ = write_results(other)
    assert list(second["kitti"]["bow"]) == ["unary", "CP", "SGD"]
    assert second["kitti"]["bow"]["unary"] == first["kitti"]["bow"]["unary"]
    assert second["kitti"]["bow"]["SGD"]["seeds"] == [0]
    third, page = write_results(make_comparison(KITTI, preset="kitti", features="bow+cnn", folder="cnn"))
    assert list(third["kitti"]) == ["bow", "cnn"]
    assert write_results() == (third, page)  # from the data alone
    (tmp_path / "docs/notes.md").write_text("A remark.\n")
    assert "\nA remark.\n" in write_results()[1]


def test_rows_without_figures_and_runs_without_a_preset(make_comparison, write_results, capsys):
    run = make_comparison(KITTI, preset="kitti", rows=("SGD", "unary"), shifts=(0.0,))
    (run / "seed-0/rows/SGD/metrics.json").write_text("{")
    results, _ = write_results(run)
    assert list(results["kitti"]["bow"]) == ["unary"]
    assert "SGD was left out because it has no figures" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="was made without a preset"):
        write_results(make_comparison(folder="own"))


def test_limited_rows_and_other_settings_are_stated(make_comparison, write_results):
    run = make_comparison(KITTI, preset="kitti", rows=("SGD", "unary"), shifts=(0.0,))
    change_settings(run, features={"n_regions": 9}, parameters={"SGD": {"C": 0.000123}})
    change_json(run / "seed-0/rows/SGD/row.json", n_train=4)
    results, page = write_results(run)
    assert "| 1 | 4 of 6 |" in line(page, "SGD")
    assert "--variants 'SGD' --seeds 1 --limit 4" in page
    assert "Rows whose settings or features differ from today's preset: unary, SGD." in page
    assert results["kitti"]["bow"]["SGD"]["settings"] == {"C": 0.000123}


def test_rows_that_learned_from_other_copies_are_not_compared(make_comparison, write_results):
    write_results(make_comparison(KITTI, preset="kitti", rows=("SGD", "int+lin", "int+nrl")))
    run = make_comparison(KITTI, preset="kitti", rows=("int+nrl",), folder="varied")
    change_settings(run, varied=2)
    results, page = write_results(run)
    assert results["kitti"]["bow"]["int+nrl"]["varied"] == 2
    assert "Copies of every image at other sizes, gammas and saturations: int+nrl from 2." in page
    kept, other = "int+lin against SGD", "int+nrl against int+lin"
    assert {pair: "one learned from more copies" in next(line for line in page.splitlines() if pair in line)
            for pair in (kept, other)} == {kept: False, other: True}  # fmt: skip


def test_the_literal_procedure_is_a_section_and_a_column(make_comparison, write_results):
    write_results(make_comparison(KITTI, preset="kitti", rows=("SGD", "unary")))
    other = make_comparison(KITTI, preset="kitti", rows=("SGD",), procedure="literal", folder="literal")
    results, page = write_results(other)
    assert list(results["kitti"]) == ["bow", "literal"]
    assert "## KITTI, bag-of-words features, the literal procedure" in page
    assert "--features bow --procedure literal --variants 'SGD'" in page
    ours, literal = (results["kitti"][kind]["SGD"] for kind in ("bow", "literal"))
    cells = [f"{row['pixel']:.1f} / {row['class_mean']:.1f}" for row in (literal, ours)]
    assert f"| SGD | 65.5 / 50.6 | {' | '.join(cells)} |" in page
    assert "| unary | 53.8 / 42.8 | – |" in page


def test_settings_are_those_that_were_used(make_comparison, write_results):
    run = make_comparison(KITTI, preset="kitti", rows=("CP",), shifts=(0.0,))
    row = read_json(run / "seed-0/rows/CP/row.json")
    settings = {"model": {"class": "CuttingPlaneSVM", "C": 0.4, "tol": 0.001}}
    change_json(run / "seed-0/rows/CP/row.json", settings=settings, cost="pixel")
    history = run / "seed-0/rows/CP/history.jsonl"
    Lines(Epoch, history).write([Epoch(1, objective=8.0, more={"duality_gap": 2.0, "dual": 7.0})])
    results, page = write_results(run)
    assert row["settings"] != results["kitti"]["bow"]["CP"]["effective"] == settings
    assert "| cutting planes, duality gap 25.0 %, 12.5 % as inference sees it |" in line(page, "CP")
    assert "| C (λ) | 0.4 |" in page
    assert "| cost | pixel |" in page


def test_rows_made_with_the_preset_are_known_by_it(make_comparison, write_results):
    run, preset = make_comparison(KITTI, preset="kitti"), Preset.read("kitti").features["bow"]
    parameters = {variant_key(row): changes for row, changes in preset.parameters.items()}
    change_settings(run, features=preset.options, mirror=preset.mirror, varied=preset.varied, parameters=parameters)
    assert "differ from today" not in write_results(run)[1]


def test_committed_page_is_that_of_the_committed_data(write_results, tmp_path):
    data, page = SCRIPT.with_name("results.json"), SCRIPT.with_name("RESULTS.md")
    if not data.exists():
        pytest.skip("there are no results yet")
    for path in (data, SCRIPT.with_name("notes.md")):
        if path.exists():
            (tmp_path / "docs" / path.name).write_bytes(path.read_bytes())
    assert write_results()[1] == page.read_text(encoding="utf-8")


def test_the_summary_of_the_benchmarks_is_that_of_the_committed_data():
    path = SCRIPT.with_name("results.json")
    if not path.exists():
        pytest.skip("there are no results yet")
    results, text = read_json(path), SCRIPT.with_name("benchmarks.md").read_text(encoding="utf-8")

    def both(row):
        return f"{row['pixel']:.1f} / {row['class_mean']:.1f}"

    for name, title in (("msrc21", "MSRC-21"), ("kitti", "KITTI"), ("siftflow", "SIFT Flow")):
        cells = line(text, f"{title}, bags of words").strip("| ").split(" | ")
        assert [cells[2], cells[4]] == [both(results[name]["bow"][row]) for row in ("int+nrl", "3-layer")]
    assert f"With CNN features MSRC-21 has {both(results['msrc21']['cnn']['neural factors'])}" in text
