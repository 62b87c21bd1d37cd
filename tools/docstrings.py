"""Hold the docstrings of all public names to numpydoc, by the checks in pyproject.toml; exit with 1 where one fails."""

import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from numpydoc.validate import validate

ROOT = Path(__file__).parents[1]
ROOMS = ("", ".datasets", ".estimators", ".inference", ".learning", ".metrics", ".segmentation", ".vision")


def public_names() -> dict[str, object]:
    """Everything that the public rooms list, by where it is defined."""
    rooms = [importlib.import_module(f"neuralfactors{room}") for room in ROOMS]
    found = [getattr(room, name) for room in rooms for name in room.__all__]
    return {f"{each.__module__}.{each.__qualname__}": each for each in found if hasattr(each, "__qualname__")}


def members(name: str, thing: object) -> Iterator[str]:
    """A name and, of a class, its public methods, as far as they are our own."""
    yield name
    for member in vars(thing) if inspect.isclass(thing) else ():
        if not member.startswith("_") and callable(inspect.unwrap(getattr(thing, member))):
            yield f"{name}.{member}"


def main() -> int:
    checks = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"])
    failed = 0
    for name in (each for known in public_names().items() for each in members(*known)):
        for code, message in validate(name)["errors"]:
            if code in checks:
                failed += 1
                print(f"{name}: {code} {message}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
