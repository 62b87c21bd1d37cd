"""Runs: variants trained one after another into a run folder, and resumed where they stopped."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from neuralfactors._experiment.data import (
    Means,
    data_digest,
    open_data,
    prepare,
    refuse_changed,
    told_images,
    told_regions,
    used_splits,
)
from neuralfactors._experiment.examples import write_examples
from neuralfactors._experiment.models import check_config, usable_run
from neuralfactors._experiment.rows import train_row
from neuralfactors._runs import ClassInfo, Run, RunConfig, RunFolder, Search
from neuralfactors._runs.lock import alone_in
from neuralfactors._runs.records import now
from neuralfactors.datasets import ImageFolder

PACKAGES = ("neuralfactors", "torch", "numpy", "scipy", "scikit-learn", "scikit-image", "pillow")
logger = logging.getLogger(__name__)


def train(config: RunConfig, out: str | os.PathLike[str], means: Means | None = None, command: str = "") -> Path:
    """Train and evaluate the variants of a run into its folder; killed at any moment, it can be resumed.

    Parameters
    ----------
    config : RunConfig
        What to do.
    out : path
        The run folder, made if need be.
    means : Means, default=None
        How to compute; None: `Means()`.
    command : str, default=""
        The command line, for the record.

    Returns
    -------
    Path
        The folder.
    """
    folder = RunFolder(Path(out))
    folder.refuse_begun()  # before the work of looking at all images
    check_config(config)
    data = open_data(config)
    run = describe_run(config, data, command)
    with alone_in(folder.path), threads_of(run):
        folder.refuse_begun()
        folder.document.write(run)
        try:
            return _train_rows(run, data, folder, means or Means())
        except Exception:
            if not folder.features.exists():  # it could not even begin, and never will: nothing is there to resume
                folder.document.path.unlink()
            raise


def resume_run(folder: RunFolder, means: Means) -> Path:
    """The run folder, after the remaining work is done."""
    run = usable_run(folder)
    if run.finished and all(row.is_done for row in folder.rows()):
        return folder.path  # nobody need be alone to see that
    with alone_in(folder.path), threads_of(run):
        data = open_data(run.settings)
        refuse_changed(run, data)
        return _train_rows(run, data, folder, means)


def _train_rows(run: Run, data: ImageFolder, folder: RunFolder, means: Means) -> Path:
    config = run.settings
    left = [row for row in folder.rows() if not row.is_done]
    if left:
        prepared = prepare(config, data, folder, means)
        logger.info("%s", told_images(config, data, prepared))
        for line in filter(None, told_regions(prepared)):
            logger.info("%s", line)
        if prepared.test is not None and config.n_examples:
            write_examples(folder, prepared.test, data.classes.palette, config.n_examples)
        for row in left:
            logger.info("training %s", row.variant)
            train_row(row, config, prepared, verbose=means.verbose)
    folder.document.write(run.ended())
    return folder.path


def describe_run(
    config: RunConfig,
    data: ImageFolder,
    command: str,
    *,
    seeds: tuple[int, ...] | None = None,
    search: Search | None = None,
) -> Run:
    """What is recorded of a run before any variant is trained; `seeds` of a comparison, `search` of a search."""
    used = used_splits(config, data)
    counts = {split: len(data[split]) for split in dict.fromkeys(filter(None, used.values()))}
    colors = [(int(r), int(g), int(b)) for r, g, b in data.classes.palette]
    return Run(
        settings=config.resolved(),
        splits=counts if used["test"] else {**counts, "test": 0},
        classes=tuple(map(ClassInfo, data.classes.names, colors)),
        threads=torch.get_num_threads(),
        versions={"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        started=now(),
        command=command,
        data_digest=data_digest(config, data),
        seeds=seeds,
        search=search,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@contextmanager
def threads_of(run: Run) -> Iterator[None]:
    """Torch with as many threads as `run` began with, on which the rounding of sums depends, or as there are."""
    here = torch.get_num_threads()
    torch.set_num_threads(min(run.threads, here))
    try:
        yield
    finally:
        torch.set_num_threads(here)
