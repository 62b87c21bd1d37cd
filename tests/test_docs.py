"""The examples in docstrings and on the pages do what they show; pages name what exists."""

import dataclasses
import doctest
import importlib
import importlib.util
import operator
import pkgutil
import re
from pathlib import Path

import pytest

import neuralfactors

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MODULES = sorted(module.name for module in pkgutil.walk_packages(neuralfactors.__path__, "neuralfactors."))


@pytest.mark.parametrize("name", [name for name in MODULES if not name.rpartition(".")[2].startswith("_")])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_pages(page):
    results = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted(DOCS.glob("*.md")))]
)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_contributing_names_files_and_functions_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text[text.index("### One image's way") : text.index("## Builds")]
    paths = re.findall(r"`([\w/]+/[\w/]*(?:\.\w+)?|\w+\.py)`", text)
    assert len(paths) > 40
    assert [
        path for path in paths if not any((ROOT / room / path).exists() for room in (".", "src/neuralfactors"))
    ] == []
    for path, name in re.findall(r"`([\w/]+)\.py` `([\w.]+)`", text):
        operator.attrgetter(name)(importlib.import_module(f"neuralfactors.{path.replace('/', '.')}"))


def find(path):
    """What a dotted path below the package names: an object, or an attribute that only its instances have."""
    found = neuralfactors
    for part in path.split("."):
        if hasattr(found, part):
            found = getattr(found, part)
        elif dataclasses.is_dataclass(found):
            found = {field.name: field for field in dataclasses.fields(found)}[part]
        elif isinstance(found, type):
            found = found.__init__.__annotations__[part]
        else:
            found = importlib.import_module(f"{found.__name__}.{part}")
    return found


def glossary_names():
    rows = (line for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line.startswith("| "))
    return sorted({name for row in rows for name in re.findall("`(.+?)`", row.split(" | ")[1])})


@pytest.mark.parametrize("name", glossary_names())
def test_glossary_names_what_there_is(name):
    find(name)  # KeyError, AttributeError or ModuleNotFoundError where it is gone


def test_glossary_names_every_variant():
    text = (ROOT / "docs" / "glossary.md").read_text()
    assert all(find("_runs.NAMES")[key].printed in text for key in find("_runs.TABLED"))


def test_list_of_public_names_is_up_to_date():
    spec = importlib.util.spec_from_file_location("docstrings", ROOT / "tools" / "docstrings.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == tool.api_page()
