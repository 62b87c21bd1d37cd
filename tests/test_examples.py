"""Every page of the gallery runs in its short form, with and without public data, prints figures and draws."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot

FOLDER = Path(__file__).parents[1] / "examples"
PAGES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.py"))
SHORT = re.compile(r"^(\w+) = .+?  # (.+) in tests$", flags=re.MULTILINE)  # n_epochs = 30  # 2 in tests
WITH_DATA = [page for page in PAGES if "NEURALFACTORS_DATA" in (FOLDER / page).read_text(encoding="utf-8")]


def run_short(page):
    """Runs a page with the small numbers that its comments name; returns how many pictures it has drawn."""
    source = SHORT.sub(r"\1 = \2", (FOLDER / page).read_text(encoding="utf-8"))
    pyplot.close("all")
    with mpl.rc_context({"backend": "agg"}):
        exec(compile(source, page, "exec"), {"__name__": "__main__"})
        drawn = [pyplot.figure(number) for number in pyplot.get_fignums()]
        for figure in drawn:
            figure.canvas.draw()
    pyplot.close("all")
    return len(drawn)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_and_draws(page, capsys, monkeypatch):
    monkeypatch.delenv("NEURALFACTORS_DATA", raising=False)
    assert run_short(page) >= 1
    assert re.search(r"\d", capsys.readouterr().out)


@pytest.mark.realdata
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", WITH_DATA)
def test_page_runs_on_public_data(page):
    assert run_short(page) >= 1


@pytest.mark.parametrize("page", PAGES)
def test_page_begins_with_a_title(page):
    _, title, line, *_ = (FOLDER / page).read_text(encoding="utf-8").splitlines()
    assert line == "=" * len(title)
