"""The documentation site: it builds without a warning, its links hold, and a browser shows it without complaint."""

import subprocess
import sys
from pathlib import Path

import pytest
from browsing import open_driver, requests_of_pages

ROOT = Path(__file__).parents[1]
SHOWN = (
    "index.html", "start/pytorch.html", "start/command-line.html", "method/structural-svm.html", "howto/solve.html",
    "howto/troubleshooting.html", "gallery/index.html", "gallery/pictures/cnn.html", "reference/neuralfactors.html",
    "reference/names/neuralfactors.StructuralSVM.html", "RESULTS.html", "glossary.html",
)  # fmt: skip
WIDTHS = {"desktop": 1280, "phone": 390}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, without running the gallery, which has tests of its own."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-D",
        "plot_gallery=0",
        "-d",
        folder / "trees",
    ]
    built = subprocess.run([*command, ROOT / "docs", folder / "html"], capture_output=True, text=True, timeout=3000)
    assert built.returncode == 0, built.stderr
    return folder / "html"


def test_links_hold_and_nothing_comes_from_elsewhere(site):
    checked = subprocess.run([sys.executable, ROOT / "tools" / "site_links.py", site], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_checker_finds_what_is_wrong(tmp_path):
    (tmp_path / "page.html").write_text(
        '<p id="here"><a href="#here">a</a><a href="#gone">b</a><a href="none.html">c</a></p>'
        '<a href="https://example.org/">d</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "style.css").write_text("@import url(https://example.org/font.css);")
    tool = [sys.executable, ROOT / "tools" / "site_links.py", tmp_path]
    found = subprocess.run(tool, capture_output=True, text=True)
    assert found.returncode == 1
    assert [line.partition(": ")[2] for line in found.stdout.splitlines()] == [
        "loads https://example.org/x.js from elsewhere", "#gone has no such place", "none.html does not exist",
        "loads https://example.org/font.css from elsewhere",
    ]  # fmt: skip


def test_every_public_name_has_a_page(site):
    pages = {path.stem for path in (site / "reference" / "names").glob("*.html")}
    assert {"neuralfactors.solve", "neuralfactors.Potentials", "neuralfactors.plots.plot_grid"} <= pages
    assert len(pages) > 100


def test_formulas_are_mathml(site):
    text = (site / "method" / "structural-svm.html").read_text(encoding="utf-8")
    assert text.count("<math") > 5
    assert "MathJax" not in text
    assert "\\sum" not in text.replace("<annotation", "")


@pytest.fixture(scope="module")
def driver(chromium, tmp_path_factory):
    driver = open_driver(chromium, tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_browser_shows_the_pages(site, driver, width, theme):
    from selenium.webdriver.support.wait import WebDriverWait

    for log in ("browser", "performance"):
        driver.get_log(log)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": WIDTHS[width], "height": 900, "deviceScaleFactor": 1, "mobile": width == "phone"}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wait = WebDriverWait(driver, 120)  # emulation may reach a page after it has loaded
    for page in SHOWN:
        driver.get((site / page).as_uri())
        wait.until(lambda d: d.execute_script("return document.documentElement.dataset.theme") == theme, page)
        wait.until(
            lambda d: d.execute_script("return document.documentElement.scrollWidth") <= WIDTHS[width],
            f"{page} is wider than the screen",
        )
    # How soon a slow machine uses what a page preloads says nothing of the page.
    complaints = [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert [entry for entry in complaints if "was preloaded" not in entry["message"]] == []
    assert [url for url in requests_of_pages(driver) if not url.startswith(("file:///", "data:"))] == []
