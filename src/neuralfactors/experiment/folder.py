"""The run folder: JSON files that are there as a whole or not at all, and where everything lies."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralfactors.experiment.variants import PRINTED
from neuralfactors.files import write_atomically
from neuralfactors.persistence import FileFormatError

FORMAT = 1
RUN_FILE, ROW_FILE, METRICS_FILE, HISTORY_FILE = "run.json", "row.json", "metrics.json", "history.jsonl"
SEEDS = "seeds"  # the key of run.json by which a comparison is known


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
        return read_document(self.path / RUN_FILE)

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
    """Write `content` to `path` in one step; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode())


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in `path`, refused in one sentence where it is damaged or newer than this version can read."""
    content = read_object(path)
    version = content.get("format")
    if not isinstance(version, int):
        raise FileFormatError(f"{path} was not written by neuralfactors")
    if version > FORMAT:
        raise FileFormatError(f"{path} has format {version}, newer than {FORMAT}: update neuralfactors to read it")
    return content


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in `path`, of whatever format."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{path} is truncated or altered: it is not JSON") from error
    return dict(content) if isinstance(content, dict) else {}
