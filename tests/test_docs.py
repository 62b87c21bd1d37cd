"""The examples in docstrings and on the pages do what they show; pages name what exists."""

import ast
import dataclasses
import doctest
import importlib
import importlib.util
import json
import operator
import pkgutil
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

import neuralfactors
from neuralfactors._cli.commands import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS.glob("**/*.md"))]
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
MODULES = sorted(module.name for module in pkgutil.walk_packages(neuralfactors.__path__, "neuralfactors."))


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_import_what_users_may_import():
    texts = [*TEXTS.values(), *(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))]
    modules = {name for text in texts for name in re.findall(r">>> from (neuralfactors\S*) import", text)}
    assert len(modules) > 3
    assert sorted(name for name in modules if "._" in name) == []


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")  # readers see what the pages show, no more
@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in TEXTS[page]])
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where pages write files
    results = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_python_on_pages_is_run(page):
    blocks = re.findall(r"^```python\n(.*?)^```", TEXTS[page], flags=re.MULTILINE | re.DOTALL)
    assert [block for block in blocks if not block.startswith(">>> ")] == []


def commands_on_pages():
    """Every call of the command line in a block of the console."""
    blocks = [block for text in TEXTS.values() for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)]
    calls = {line.partition("#")[0].strip() for block in blocks for line in block.splitlines()}
    return sorted(call[2:] for call in calls if call.startswith("$ neuralfactors ") and "--version" not in call)


@pytest.mark.parametrize("call", commands_on_pages())
def test_commands_on_pages_have_these_options(call):
    _, name, *arguments = shlex.split(call)
    command = typer.main.get_command(app).get_command(None, name)
    command.make_parser(command.context_class(command)).parse_args(arguments)  # NoSuchOption where there is none


def messages_in_source():
    """All texts in the source, with dots for the values that go into them."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    parts = [node.values if isinstance(node, ast.JoinedStr) else [node] for node in nodes]
    texts = [[getattr(part, "value", "...") for part in row if isinstance(part, ast.Constant)] for row in parts]
    return ["...".join(map(str, row)) for row in texts]


def test_troubleshooting_quotes_messages_that_there_are():
    known = "\n".join(messages_in_source())
    rows = [line for line in TEXTS["docs/howto/troubleshooting.md"].splitlines() if line.startswith("| `")]
    quoted = [part.strip(" ,:;") for row in rows for part in re.match(r"\| `(.*?)` \|", row)[1].split("...")]
    assert len(rows) > 20
    assert [part for part in quoted if len(part) > 3 and part not in known] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXTS[page])
    targets = [target for target in targets if "gallery/" not in target]  # made by the build, which checks them
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_the_page_about_ranks_has_the_recorded_figures():
    assert (
        load_script("ranks").make_page(json.loads((DOCS / "ranks.json").read_text()))
        == TEXTS["docs/howto/communication.md"]
    )


@pytest.mark.parametrize(
    ("script", "name"), [("few_images", "few-images"), ("gains", "gains"), ("scribbles", "scribbles")]
)
def test_pages_of_segmentation_have_the_recorded_figures(script, name):
    rows = json.loads((DOCS / f"{name}.json").read_text())
    assert load_script(script).page(rows) == TEXTS[f"docs/{name}.md"]


@pytest.mark.parametrize("page", [page for page in PAGES if "gallery/" in TEXTS[page]])
def test_links_to_the_gallery_have_their_example(page):
    names = re.findall(r"gallery/(\w+/\w+)\.rst", TEXTS[page])
    assert [name for name in names if not (ROOT / "examples" / f"{name}.py").exists()] == []


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


def load_script(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_drawings_come_from_their_script(tmp_path, monkeypatch):
    script = load_script("figures")
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    script.main()
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn | {"recording.svg"} == {path.name for path in (DOCS / "figures").iterdir()}


def test_wordmark_is_what_its_script_draws(tmp_path, monkeypatch):
    script = load_script("wordmark")
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    script.main()
    for path in tmp_path.iterdir():
        assert path.read_text() == (DOCS / "_static" / path.name).read_text()


def test_recording_shows_lines_in_order_within_its_time():
    script = load_script("recording")
    texts = {0.0: "$ neuralfactors <x>", 40.0: "a " * 80, 41.0: "Confusion", 42.0: "b"}
    lines = [(seconds, text, text.startswith("$")) for seconds, text in texts.items()]
    kept = list(script.shortened(lines))
    assert [text.split()[0] for _, text, _ in kept] == ["$", "a", "a", "b"]
    times = script.squeezed(kept)
    assert times == sorted(times)
    assert times[-1] < script.SECONDS
    picture = ElementTree.fromstring(script.draw(kept))
    assert next(each.text for each in picture if each.tag.endswith("text")) == "$ neuralfactors <x>"
