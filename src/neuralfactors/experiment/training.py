"""Runs: rows of the paper's table trained one after another into a run folder, and continued where they stopped."""

from __future__ import annotations

import logging
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from neuralfactors.datasets import ImageFolder
from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.data import (
    DIGEST,
    Means,
    data_digest,
    open_data,
    prepare,
    refuse_changed,
    told_images,
    used_splits,
)
from neuralfactors.experiment.examples import write_examples
from neuralfactors.experiment.folder import FORMAT, RUN_FILE, RunFolder, typed, write_json
from neuralfactors.experiment.rehearsal import check_config
from neuralfactors.experiment.rows import run_row
from neuralfactors.experiment.threads import threads_of
from neuralfactors.runs.lock import alone_in

PACKAGES = ("neuralfactors", "torch", "numpy", "scipy", "scikit-learn", "scikit-image", "pillow")
logger = logging.getLogger(__name__)


def run(config: RunConfig, out: str | os.PathLike[str], means: Means | None = None, command: str = "") -> Path:
    """The run folder `out`, after the rows of `config` have been trained and evaluated into it.

    Killed at any moment, it can be continued by `resume`.
    """
    folder = RunFolder(Path(out))
    _refuse_existing(folder)  # before the work of looking at all images
    check_config(config)
    data = open_data(config)
    document = run_document(config, data, command)
    with alone_in(folder.path), threads_of(document):
        _refuse_existing(folder)
        write_json(folder.path / RUN_FILE, document)
        try:
            return _run(config, data, folder, means or Means())
        except Exception:
            if not folder.features.exists():  # it could not even begin, and never will: nothing is there to resume
                (folder.path / RUN_FILE).unlink(missing_ok=True)
            raise


def _refuse_existing(folder: RunFolder) -> None:
    if (folder.path / RUN_FILE).exists():
        raise FileExistsError(
            f"{folder.path} already holds a run: 'neuralfactors resume {typed(folder.path)}' continues it, another one "
            "needs another folder"
        )


def resume_run(path: str | os.PathLike[str], means: Means | None = None) -> Path:
    """The run folder `path`, after what was left to do in it is done."""
    folder = RunFolder.open(path)
    document = folder.document()
    config = RunConfig(**document["settings"])
    if document["finished"] and folder.finished_rows() == list(config.rows):
        return folder.path  # nobody need be alone to see that
    with alone_in(folder.path), threads_of(document):
        data = open_data(config)
        refuse_changed(document, config, data)
        return _run(config, data, folder, means or Means())


def _run(config: RunConfig, data: ImageFolder, folder: RunFolder, means: Means) -> Path:
    left = [row for row in config.rows if folder.row_document(row).get("status") != "done"]
    if left:
        prepared = prepare(config, data, folder, means)
        logger.info("%s", told_images(config, data, prepared))
        if prepared.test is not None and config.n_examples:
            write_examples(folder.path, prepared.test, data.classes.palette, config.n_examples)
        for row in left:
            logger.info("training %s", row)
            run_row(row, config, folder, prepared, verbose=means.verbose)
    write_json(folder.path / RUN_FILE, {**folder.document(), "finished": now()})
    return folder.path


def run_document(config: RunConfig, data: ImageFolder, command: str) -> dict[str, Any]:
    """What run.json holds before any row is trained."""
    used = used_splits(config, data)
    counts = {split: len(data[split]) for split in dict.fromkeys(filter(None, used.values()))}
    colours = data.classes.palette.tolist()
    return {
        "format": FORMAT,
        "kind": config.kind,
        "data": Path(config.data).resolve().name,
        DIGEST: data_digest(config, data),
        "splits": counts if used["test"] else {**counts, "test": 0},
        "classes": [{"name": name, "color": c} for name, c in zip(data.classes.names, colours, strict=True)],
        "features": config.features.get("features", "bow"),
        "seed": config.seed,
        "preset": config.preset,
        "settings": config.to_dict(),
        "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "started": now(),
        "finished": None,
        "command": command,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
