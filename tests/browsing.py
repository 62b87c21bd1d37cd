"""A headless Chromium for tests of pages, and what the pages asked for."""

import json
import shutil

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1280,900"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",  # containers have little of it, and a tab without it dies
    "--force-prefers-reduced-motion",  # a page that scrolls smoothly is still moving when it is clicked
)


def open_driver(chromium, profile):
    """A driver of the browser at that path, with a folder for its profile."""
    webdriver = pytest.importorskip("selenium.webdriver")
    path = shutil.which("chromedriver") or pytest.skip("chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(path))
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(60)
    return driver


def requests_of_pages(driver):
    """Addresses that pages from files asked for; the browser's own pages ask for theirs."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    return [each["request"]["url"] for each in asked if each["documentURL"].startswith("file:///")]
