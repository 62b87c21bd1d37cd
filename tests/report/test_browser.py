"""The page in a real browser: it renders, its controls work, nothing leaves it and the console stays empty."""

import json

import pytest
from browsing import open_driver, requests_of_pages

from neuralfactors._report import write_report

from .conftest import ROWS

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def driver(chromium, tmp_path_factory):
    driver = open_driver(chromium, tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver, make_run):
    """The browser at the report of a whole run; afterwards its console is empty and nothing left the page."""
    for log in ("browser", "performance"):
        driver.get_log(log)
    open_page(driver, make_run(names=('<b>&"', "water", "grass")))
    yield driver
    assert driver.get_log("browser") == []
    sent = requests_of_pages(driver)
    assert [url for url in sent if not url.startswith(("file:///", "data:"))] == []
    assert sum(url.startswith("file:///") for url in sent) == 1  # the page itself


def open_page(driver, run):
    driver.get(write_report(run).as_uri())
    driver.execute_async_script(
        "const done = arguments[0];"
        "(function wait() { document.getElementById('canvas')?.width === 60 ? done() : setTimeout(wait, 20) })()"
    )


def js(driver, code, *values):
    return driver.execute_script(code, *values)


def shown(driver, selector):
    return [element for element in driver.find_elements("css selector", selector) if element.is_displayed()]


def labelled_pixel(driver):
    """Colour of a canvas pixel inside the middle band."""
    return js(driver, "return [...document.getElementById('canvas').getContext('2d').getImageData(40, 20, 1, 1).data]")


def choose(driver, layer):
    js(driver, "document.querySelector(`[name=layer][value='${arguments[0]}']`).click()", layer)


def test_renders_every_section(page):
    headings = [element.text for element in page.find_elements("css selector", "h2")]
    assert len(headings) == 9
    for selector in (".chart", "svg.heat", "#rows-table", "#canvas"):
        assert all(element.size["height"] > 50 for element in shown(page, selector))
        assert shown(page, selector)
    assert len(page.find_elements("css selector", ".series")) == 4 * len(ROWS)


def test_choosing_a_row_changes_the_panel(page):
    for group in ("class-bars", "confusion-map", "interaction-map"):
        (panel,) = shown(page, f'[data-panel="{group}"]')
        assert panel.get_attribute("data-row") == "int+nrl"
        choice = page.find_element("css selector", f'[data-chooses="{group}"]')
        choice.find_element("css selector", '[value="SGD"]').click()
        (panel,) = shown(page, f'[data-panel="{group}"]')
        assert panel.get_attribute("data-row") == "SGD"


def test_rows_of_the_curves_are_hidden_and_shown(page):
    box = page.find_element("css selector", '[data-curve="SGD"]')
    box.click()
    assert shown(page, '[data-series="SGD"]') == []
    assert len(shown(page, '[data-series="CP"]')) == 4
    box.click()
    assert len(shown(page, '[data-series="SGD"]')) == 4


def test_theme_goes_from_the_system_to_light_to_dark(page):
    def ground():
        return js(page, "return getComputedStyle(document.body).backgroundColor")

    def system(theme):
        feature = {"name": "prefers-color-scheme", "value": theme}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    system("dark")
    dark = ground()
    system("light")
    light = ground()
    assert dark != light
    button = page.find_element("id", "theme")
    button.click()
    system("dark")
    assert (button.get_attribute("aria-label"), ground()) == ("Colours: light", light)
    button.click()
    system("light")
    assert (button.get_attribute("aria-label"), ground()) == ("Colours: dark", dark)
    button.click()
    assert (button.get_attribute("aria-label"), ground()) == ("Colours: as the system", light)


def test_viewer_names_the_class_under_the_cursor(page):
    chains = page.find_element("id", "canvas")
    js(page, "arguments[0].scrollIntoView({block: 'center'})", chains)
    actions = pytest.importorskip("selenium.webdriver").ActionChains(page)
    height = chains.size["height"]
    for offset, name in ((-height // 3, '<b>&"'), (0, "water"), (height // 3, "grass")):
        actions.move_to_element_with_offset(chains, 5, offset).perform()
        js(page, "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        told = page.find_element("id", "under").text
        assert told.startswith(f"truth {name} · unary ")
        assert "int+nrl" in told


def test_viewer_is_used_with_the_keyboard(page):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    canvas = page.find_element("id", "canvas")
    canvas.send_keys(*[keys.ARROW_UP] * 4, *[keys.ARROW_LEFT] * 6)  # to the corner, which is void
    js(page, "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.find_element("id", "under").text.startswith("truth void")
    radio = page.find_element("css selector", '[name="layer"]:checked')
    assert radio.get_attribute("value") == "truth"
    radio.send_keys(keys.ARROW_RIGHT)
    assert page.find_element("css selector", '[name="layer"]:checked').get_attribute("value") == "unary"


def test_viewer_toggles_layers_errors_and_pictures(page):
    js(page, "blend.value = 100; blend.dispatchEvent(new Event('input'))")
    truth = labelled_pixel(page)
    palette = json.loads(js(page, "return document.getElementById('viewer-data').textContent"))["palette"]
    assert truth[:3] == palette[1]
    choose(page, "image")
    assert labelled_pixel(page) != truth
    choose(page, "unary")
    before = js(page, "return canvas.toDataURL()")
    page.find_element("id", "errors").click()
    assert js(page, "return canvas.toDataURL()") != before
    name = page.find_element("id", "example-name").text
    assert name.endswith("(1 of 2)")
    page.find_element("id", "next").click()
    assert page.find_element("id", "example-name").text.endswith("(2 of 2)")


def test_map_of_the_gallery_opens_in_the_viewer(page):
    button = page.find_element("css selector", '[data-example="1"] [data-layer="SGD"]')
    js(page, "arguments[0].click()", button)
    assert page.find_element("css selector", '[name="layer"]:checked').get_attribute("value") == "SGD"
    assert page.find_element("id", "example-name").text.endswith("(2 of 2)")


def test_heat_map_reads_out_its_cells(page):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    frame = page.find_element("css selector", "#confusion .chosen .heat-frame")
    frame.send_keys(keys.ARROW_DOWN, keys.ARROW_RIGHT, keys.ARROW_RIGHT)
    told = page.find_element("css selector", "#confusion .chosen .readout").text
    assert told.startswith("true water, predicted grass: ")


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_page_never_scrolls_sideways(page, width):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    try:
        assert js(page, "return document.documentElement.scrollWidth") <= width
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_controls_have_names(page):
    unnamed = js(
        page,
        "return [...document.querySelectorAll('button, select, input, canvas, svg[role=img], img')].filter((e) =>"
        " !(e.ariaLabel || e.textContent.trim() || e.labels?.length || e.alt)).map((e) => e.outerHTML)",
    )
    assert unnamed == []


def test_damaged_run_renders_without_errors(page, make_run):
    run = make_run(folder="damaged")
    (run / "examples.json").unlink()
    (run / "rows/int+nrl/metrics.json").write_text("{")
    page.get_log("performance")
    page.get(write_report(run).as_uri())
    assert len(page.find_elements("css selector", "#problems li")) == 2
    assert page.find_elements("id", "canvas") == []


def test_comparison_of_seeds_renders_and_fits_a_phone(page, make_comparison):
    page.get_log("performance")
    page.get(write_report(make_comparison(shifts=(0.0, 3.0))).as_uri())
    assert "±" in shown(page, '#rows-table tr[data-row="SGD"] td')[0].text
    assert len(shown(page, ".whisker")) == 2 * len(ROWS)
    phone = {"width": 320, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        assert js(page, "return document.documentElement.scrollWidth") <= 320
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_figures_of_a_single_row_are_not_blown_up(page, make_run):
    page.get_log("performance")
    page.get(write_report(make_run(rows=("int+nrl",), folder="single")).as_uri())
    widths = js(page, "return [...document.querySelectorAll('svg.chart')].map((chart) => chart.clientWidth)")
    assert max(widths) <= 36 * 16  # letters stay about as large as those of the text
    assert len(shown(page, "#synergy svg.chart")) == 2


def test_labels_of_charts_are_not_cut_off(driver, make_run):
    """The longest name of a row reaches over none of the edges."""
    open_page(driver, make_run(rows=("int+nrl", "neural-factors")))
    outside = js(
        driver,
        "return [...document.querySelectorAll('svg.chart')].filter(chart => chart.getClientRects().length)"
        ".flatMap(chart => [...chart.querySelectorAll('text')].filter(text => {"
        "  const [box, room] = [text.getBBox(), chart.viewBox.baseVal];"
        "  return box.x < room.x - 1 || box.x + box.width > room.x + room.width + 1 }))"
        ".map(text => text.textContent)",
    )
    assert outside == []
