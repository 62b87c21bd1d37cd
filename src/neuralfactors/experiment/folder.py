"""The run folder: where everything lies, and JSON files that are checked when they are read."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralfactors.experiment.config import RunConfig, Search
from neuralfactors.experiment.variants import PRINTED
from neuralfactors.files import FileFormatError, check_regular, parse_json, sealed, unsealed, write_atomically
from neuralfactors.vision import FeatureSettings

FORMAT = 2
RUN_FILE, ROW_FILE, METRICS_FILE, HISTORY_FILE = "run.json", "row.json", "metrics.json", "history.jsonl"
SEEDS = "seeds"  # the key of run.json by which a comparison is known
# What run.json must hold. Rows and seeds name folders, and so are checked further.
SHAPE = {
    "kind": str, "data": str, "splits": dict, "classes": list, "features": str, "seed": int, "settings": dict,
    "threads": int, "versions": dict, "started": str, "finished": str | None, "command": str,
}  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """Paths and documents of a run."""

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """The run in `path`, refused where there is none or where a newer version wrote it."""
        folder = cls(Path(path))
        folder.document()
        return folder

    def document(self) -> dict[str, Any]:
        """The content of run.json."""
        if not (self.path / RUN_FILE).is_file():
            raise FileNotFoundError(f"{self.path} is not a run folder: it has no {RUN_FILE}")
        document = read_document(self.path / RUN_FILE)
        try:
            _check_run(document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{self.path / RUN_FILE} does not describe a run: {error}") from error
        return document

    def refuse_unless(self, same: bool) -> None:
        """Refuse to go on with the run that is here unless its settings are the `same`."""
        if not same:
            raise ValueError(f"{self.path} holds a run with other settings: choose another folder with --out")

    @property
    def features(self) -> Path:
        """Folder of words and scaling."""
        return self.path / "features"

    def seed(self, seed: int) -> Path:
        """Where a comparison keeps the run of `seed`."""
        return self.path / f"seed-{seed}"

    def row(self, name: str) -> Path:
        """Folder of a row."""
        return self.path / "rows" / name

    def row_document(self, name: str) -> dict[str, Any]:
        """The content of a row's row.json; empty where the row has not begun."""
        path = self.row(name) / ROW_FILE
        return read_document(path) if path.exists() else {}

    def finished_rows(self) -> list[str]:
        """Names of the rows whose model is there, in the order of the run."""
        rows = self.document()["settings"]["rows"]
        return [row for row in rows if self.row_document(row).get("status") == "done"]

    def choose_row(self, name: str | None) -> str:
        """The finished row called `name`; where it is None, int+nrl if there is one, else the last."""
        document = self.document()
        if SEEDS in document:
            one = self.seed(document[SEEDS][0])
            raise ValueError(f"{self.path} holds several runs: name one of them, such as {one}")
        if document["kind"] == "tune":
            raise ValueError(f"{self.path} holds a search for settings and no model: 'neuralfactors train' takes them")
        finished = self.finished_rows()
        if not finished:
            raise ValueError(
                f"{self.path} has no finished model yet: 'neuralfactors resume {typed(self.path)}' goes on with it"
            )
        if name is None:
            return "int+nrl" if "int+nrl" in finished else finished[-1]
        name = PRINTED.get(name, name)
        if name not in finished:
            raise ValueError(f"{self.path} has no finished row {name!r}; it has {', '.join(finished)}")
        return name


def typed(path: Path) -> str:
    """`path` as a word of a command line: quoted where the shell would split it, and never taken for an option.

    >>> typed(Path("-my runs"))
    "'./-my runs'"
    """
    text = os.fspath(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def write_json(path: Path, content: Any) -> None:
    """Write `content` and its digest to `path` in one step; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(sealed(content), indent=1, allow_nan=False, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


def read_document(path: Path) -> dict[str, Any]:
    """The content of a file of this version that `write_json` wrote, refused in one sentence where it is altered."""
    body = parse_json(check_regular(path).read_bytes(), path)
    check_format(body, path, FORMAT)
    return unsealed(body, path)


def check_format(body: Any, path: Path, known: int) -> None:
    """Refuse the JSON `body` of `path` unless it has the format `known`."""
    version = body.get("format") if isinstance(body, dict) else None
    if not isinstance(version, int):
        raise FileFormatError(f"{path} was not written by neuralfactors")
    if version > known:
        raise FileFormatError(f"{path} has format {version}, newer than {known}: update neuralfactors to read it")
    if version < known:
        raise FileFormatError(f"{path} has format {version}, older than {known}, which this version reads")


def read_object(path: Path) -> dict[str, Any]:
    """The content of a file without a format that `write_json` wrote, refused where it is altered."""
    return unsealed(parse_json(check_regular(path).read_bytes(), path), path)


def _check_run(document: dict[str, Any]) -> None:
    for key, kind in SHAPE.items():
        if key not in document or not isinstance(document[key], kind):
            raise ValueError(f"{key} is missing or of the wrong type")
    FeatureSettings(**RunConfig(**document["settings"]).features)  # which refuse unknown rows and parameters
    if document["kind"] == "tune":
        Search(**document["search"])
    if not all(isinstance(number, int) for number in [*document["splits"].values(), *document.get(SEEDS, [])]):
        raise ValueError(f"splits and {SEEDS} must be whole numbers")
    if not all(isinstance(entry["name"], str) for entry in document["classes"]):
        raise ValueError("classes must have names")
