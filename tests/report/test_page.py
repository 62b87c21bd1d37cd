"""The page: figures beside the paper's, charts, examples; whole, escaped, and the same each time."""

import base64
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from neuralfactors._report import write_report
from neuralfactors._runs import Epoch, RunFolder
from neuralfactors._runs.config import ImageOptions

from .conftest import MSRC21, ROWS, change_json, read_json

PAPER_PIXEL = {"unary": 36.3, "CP": 59.4, "SGD": 59.2, "int+lin": 67.4, "bif+nrl": 62.7, "int+nrl": 70.1}


class Cells(HTMLParser):
    """Texts of the cells that name their row and what they hold; and texts of all elements with an id."""

    def __init__(self, page):
        super().__init__()
        self.row, self.cell, self.found, self.text = None, None, {}, ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "tr":
            self.row = values.get("data-row")
        if tag == "td":
            self.cell = values.get("data-cell")

    def handle_endtag(self, tag):
        if tag == "td":
            self.cell = None

    def handle_data(self, data):
        self.text += data
        if self.row and self.cell:
            key = (self.row, self.cell)
            self.found[key] = self.found.get(key, "") + data.strip()


def report(run, **options):
    return write_report(run, **options).read_text(encoding="utf-8")


def signed(value):
    rounded = round(value, 1)
    return "±0.0" if rounded == 0 else f"{'+' if rounded > 0 else '−'}{abs(rounded):.1f}"


@pytest.mark.parametrize(
    ("optimiser", "size", "told"), [("adam", 12, "Adam, 12 images a step"), ("sgd", None, "subgradients, all images")]
)
def test_rows_say_how_they_were_trained(make_run, optimiser, size, told):
    run = make_run(rows=("SGD",))
    model = {"class": "StructuralSVM", "trainer__optimizer": optimiser, "batch_size": size}
    change_json(RunFolder(run).row("SGD").row.path, settings={"model": model})
    assert f"Linear factors on its outputs; {told}" in report(run)


def test_table_holds_ours_the_papers_and_the_difference(make_run):
    run = make_run(MSRC21, preset="msrc21")
    cells = Cells(report(run)).found
    for row in ROWS:
        metrics = read_json(run / "rows" / row / "metrics.json")
        for key in ("pixel", "class_mean", "mean_iou"):
            assert cells[row, key] == f"{100 * metrics[key]:.1f}"
        if row in PAPER_PIXEL:
            assert cells[row, "pixel-paper"] == f"{PAPER_PIXEL[row]:.1f}"
            assert cells[row, "pixel-difference"] == signed(100 * metrics["pixel"] - PAPER_PIXEL[row])
    assert cells["int+lin-dagger", "class_mean-paper"] == "51.7"
    assert cells["3-layer", "class_mean-paper"] == "65.1"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "The variants were evaluated on 2 images of the split test."),
        ({"split": "val", "n_images": 1}, "The variants were evaluated on 1 image of the split val."),
    ],
)
def test_images_of_the_evaluation_are_named(make_run, changes, sentence):
    run = make_run()
    for path in run.glob("rows/*/metrics.json"):
        change_json(path, **changes)
    page = report(run)
    assert f'<p id="evaluated-on">{sentence}</p>' in page
    assert "test images" not in page


def test_rows_evaluated_on_different_images_are_told_apart(make_run):
    run = make_run(rows=("unary", "SGD", "int+nrl"))
    change_json(run / "rows/SGD/metrics.json", split="val")
    told = "unary, int+nrl on 2 images of the split test; SGD on 2 images of the split val"
    assert f"The variants were not evaluated on the same images: {told}." in report(run)


def test_nothing_evaluated_is_not_said_to_be(make_run):
    run = make_run(rows=("SGD",))
    (run / "rows/SGD/metrics.json").unlink()
    assert "evaluated-on" not in report(run)


def test_every_class_stands_beside_the_paper(make_run):
    run = make_run(MSRC21, preset="msrc21")
    page = report(run)
    table = page[page.index('id="class-table"') :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    lines = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    assert len(lines) == 21
    paper = {"building": "53", "dog": "0", "boat": "26"}  # int+nrl, Table I
    ours = read_json(run / "rows/int+nrl/metrics.json")["per_class"]
    for name, theirs in paper.items():
        (line,) = [line for line in lines if f"</span>{name}</th>" in line]
        cell = re.findall(r"<td.*?</td>", line, re.S)[ROWS.index("int+nrl")]
        value = 100 * ours[MSRC21.index(name)]
        assert f"<b>{value:.1f}</b><small>{theirs} " in cell
        assert f">{signed(value - float(theirs))}<" in cell


def test_set_without_published_figures_stands_alone(make_run):
    page = report(make_run())
    cells = Cells(page).found
    assert not any(key.endswith(("-paper", "-difference")) for _, key in cells)
    assert ">Results</h2>" in page
    table = page[page.index('class="findings"') : page.index("</table>", page.index('class="findings"'))]
    assert "holds" in table
    assert "not measured" not in table
    assert "Paper" not in table


def test_rows_that_only_the_paper_has_are_named(make_run):
    page = report(make_run(MSRC21, preset="msrc21", rows=("SGD", "int+nrl")))
    cells = Cells(page).found
    assert page.count("not in this run") == 6
    assert (cells["CP", "pixel"], cells["CP", "pixel-paper"]) == ("–", "59.4")


def test_cnn_features_stand_beside_the_state_of_the_art(make_run):
    page = report(make_run(MSRC21, preset="msrc21", features="cnn", rows=(*ROWS, "neural-factors")))
    cells = Cells(page).found
    assert cells["neural-factors", "pixel-paper"] == "88.9"
    assert cells["int+nrl", "pixel-paper"] == "–"
    assert cells["SGD", "pixel-paper"] == "–"
    assert "Liu et al." in page


def test_findings_follow_from_the_figures(make_run):
    run = make_run(preset="kitti", names=("sky", "building", "road"))
    for row, pixel, mean in (("int+nrl", 80, 60), ("bif+nrl", 70, 65), ("int+lin", 60, 50), ("SGD", 61, 51)):
        change_json(run / "rows" / row / "metrics.json", pixel=pixel / 100, class_mean=mean / 100)
    page = report(run)
    table = page[page.index('class="findings"') :]
    verdicts = re.findall(r'class="verdict .*?">(.*?)</span></td><td>(.*?)</td><td>(.*?)</td>', table)
    assert verdicts[0] == ("holds in part", "+10.0 / −5.0", "+5.6 / +5.0")  # int+nrl against bif+nrl
    assert verdicts[1][:2] == ("does not hold", "−1.0 / −1.0")  # int+lin against SGD
    assert verdicts[3][:2] == ("holds", "+20.0 / +10.0")  # int+nrl against int+lin


def test_synergy_figure_has_the_ablations(make_run):
    run = make_run()
    page = report(run)
    figure = page[page.index('id="synergy"') : page.index('id="examples"')]
    for row in set(ROWS) - {"unary"}:
        for part in read_json(run / "rows" / row / "metrics.json")["ablation"].values():
            assert f">{100 * part['pixel']:.1f}</text>" in figure
            assert f">{100 * part['class_mean']:.1f}</text>" in figure
    assert figure.index("bifurcated training") < figure.index("integrated training")


def test_curves_confusion_interactions_timings_settings_versions_and_command(make_run):
    run = make_run()
    page = report(run)
    for quantity in ("objective", "hinge", "gap", "accuracy"):
        start = page.index(f'data-quantity="{quantity}"')
        panel = page[start : page.index("</figure>", start)]
        assert panel.count('class="series ') == len(ROWS)
    entries = [json.loads(text) for text in re.findall(r'class="cells">(.*?)</script>', page)]
    confusions = [entry["counts"] for entry in entries if entry["kind"] == "confusion"]
    assert confusions == [read_json(run / "rows" / row / "metrics.json")["confusion"] for row in ROWS]
    tables = [entry["values"] for entry in entries if entry["kind"] == "interaction"]
    expected = [read_json(run / "rows" / row / "metrics.json")["interactions"] for row in ROWS[1:]]
    np.testing.assert_allclose(tables, expected, atol=6e-5)
    timings = page[page.index('id="timings-table"') :]
    assert (
        '<tr data-row="3-layer"><th scope="row">3-layer</th><td>done</td><td>80</td><td>20</td><td>17</td><td>4</td>'
        in timings
    )
    for text in ("model.trainer__learning_rate", "2.13.0", "neuralfactors compare scenes --seed 7 --out run"):
        assert text in page


def test_accuracy_that_never_changes_has_an_axis_up_to_a_hundred(make_run):
    run = make_run(rows=("int+nrl",))
    epochs = [Epoch(epoch, accuracy=1.0) for epoch in (1, 2, 3)]
    RunFolder(run).row("int+nrl").history.write(epochs)
    page = report(run)
    start = page.index('data-quantity="accuracy"')
    panel = page[start : page.index("</figure>", start)]
    stops = [float(stop) for stop in re.findall(r'class="tick"[^>]*>([\d.]+)<', panel)]
    assert max(stops) == 100
    assert 99 in stops


def test_examples_go_from_gain_to_loss_and_say_so(make_run):
    run = make_run()
    truth = np.asarray(Image.open(run / "examples/first.png"))
    half = np.where(np.arange(60) < 30, truth, (truth + 1) % 3)
    palette = Image.open(run / "examples/first.png").getpalette()
    for row, name, labels in (
        ("SGD", "first", truth),
        ("int+nrl", "first", half),
        ("SGD", "second", half),
        ("int+nrl", "second", truth),
    ):
        picture = Image.fromarray(np.where(truth == 255, 0, labels).astype(np.uint8))
        picture.putpalette(palette)
        picture.save(run / "rows" / row / "predictions" / f"{name}.png")
    page = report(run)
    heads = re.findall(r"<h3>(\w+) <span class=\"diff (\w+)\">(.*?)<span", page)
    counted = truth != 255
    right = 100 * (half == truth)[counted].mean()
    assert heads == [("second", "better", signed(100 - right)), ("first", "worse", signed(right - 100))]


@pytest.mark.parametrize("n_classes", [255, 256, 300])
def test_examples_of_many_classes(make_run, n_classes):
    run = make_run(names=[f"class {k}" for k in range(n_classes)], rows=("SGD", "int+nrl"))
    page = report(run)
    assert 'id="problems"' not in page
    assert page.count('class="example"') == 2
    palette = json.loads(re.search(r'id="viewer-data">(.*?)</script>', page).group(1))["palette"]
    colors = {tuple(color): label for label, color in enumerate(palette)}
    assert len(colors) == n_classes + 1
    (uri,) = re.findall(r'src="data:image/png;base64,([^"]*)"[^>]* alt="true labels for first"', page)
    shown = np.asarray(Image.open(BytesIO(base64.b64decode(uri))).convert("RGB"))
    truth = np.asarray(Image.open(run / "examples/first.png"))
    labels = np.array([[colors[tuple(color)] for color in line] for line in shown.tolist()])
    np.testing.assert_array_equal(labels, np.minimum(truth, n_classes))


def test_page_is_whole_and_needs_nothing_from_elsewhere(make_run):
    page = report(make_run(MSRC21, preset="msrc21"))
    assert not re.search(r"https?://|//[a-z]+\.[a-z]|@import|url\(", page)
    assert set(re.findall(r'\bsrc="(.{5})', page)) == {"data:"}
    assert {link[:1] for link in re.findall(r'\bhref="(.*?)"', page)} == {"#", "d"}  # anchors and the empty icon
    assert "default-src 'none'" in page
    assert "{{" not in page
    assert "{%" not in page


@pytest.mark.parametrize("name", ["<b>&\"'", "</script><script>alert(1)</script>", "a" * 200, "été 日本"])
def test_names_are_escaped(make_run, name):
    run = make_run(names=(name, "sky", "water"), images=ImageOptions(void=(name,)), parameters={"*": {name: name}})
    settings = {**read_json(run / "run.json")["settings"], "data": name}
    change_json(run / "run.json", command=name, versions={name: name}, settings=settings)
    page = report(run)
    assert "<b>&\"'" not in page
    assert "<script>alert" not in page
    assert name in Cells(page).text
    assert name in json.loads(re.search(r'id="viewer-data">(.*?)</script>', page).group(1))["names"]


def test_same_run_gives_the_same_page(make_run):
    assert report(make_run(folder="one")) == report(make_run(folder="two"))


def test_report_imports_neither_torch_nor_scipy(make_run):
    run = str(make_run())
    show = "print({'torch', 'sklearn', 'scipy'} & {*sys.modules})"
    code = f"import sys, neuralfactors._report as r; r.write_report({run!r}); {show}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "set()"


def test_out_is_written_in_one_step_and_replaced(make_run, tmp_path):
    run = make_run()
    assert write_report(run) == run / "report.html"
    out = tmp_path / "page.html"
    out.write_text("old")
    assert write_report(run, out=out) == out
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "page.html"}
