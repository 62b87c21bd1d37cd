"""Hold the docstrings of all public names to numpydoc, by the checks in pyproject.toml; exit with 1 where one fails."""

import ast
import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

ROOT = Path(__file__).parents[1]
ROOMS = ("", ".inference", ".estimators", ".learning", ".segmentation", ".datasets", ".vision", ".metrics", ".plots")


def public_names() -> dict[str, object]:
    """Functions and classes that the public rooms list, by where they are defined; a protocol cannot be made."""
    rooms = [importlib.import_module(f"neuralfactors{room}") for room in ROOMS]
    found = [getattr(room, name) for room in rooms for name in room.__all__]
    ours = [each for each in found if hasattr(each, "__qualname__") and not getattr(each, "_is_protocol", False)]
    return {f"{each.__module__}.{each.__qualname__}": each for each in ours}


def members(name: str, thing: object) -> Iterator[str]:
    """A name and, of a class, the public methods that are ours, by where they are defined."""
    yield name
    for member in dir(thing) if inspect.isclass(thing) else ():
        method = inspect.unwrap(getattr(thing, member))
        ours = inspect.isroutine(method) and (getattr(method, "__module__", None) or "").startswith("neuralfactors.")
        if ours and not member.startswith("_"):
            yield f"{method.__module__}.{method.__qualname__}"


def wrong_defaults(name: str) -> Iterator[tuple[str, str]]:
    """A message for every parameter whose default the docstring does not tell, or tells wrong."""
    found = Validator(get_doc_object(Validator._load_obj(name)))
    known = inspect.signature(found.code_obj).parameters if callable(found.code_obj) else {}
    for parameter, (kind, _) in found.doc_all_parameters.items():
        default = known[parameter].default if parameter in known else inspect.Parameter.empty
        told = kind.partition("default=")[2]
        if default is inspect.Parameter.empty or (told and repr(default) == "<factory>"):
            continue
        if told != repr(default) and _value(told) != default:
            yield "default", f'Parameter "{parameter}" has the default {default!r}, but the docstring says "{kind}"'


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def main() -> int:
    checks = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"])
    names = {each: None for known in public_names().items() for each in members(*known)}
    failed = 0
    for name in names:
        errors = [error for error in validate(name)["errors"] if error[0] in checks]
        for code, message in [*errors, *wrong_defaults(name)]:
            failed += 1
            print(f"{name}: {code} {message}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
