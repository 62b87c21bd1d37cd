"""Runs: variants trained one after another into a run folder, and resumed where they stopped."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from neuralfactors._experiment.rows import help_train_row, train_row
from neuralfactors._runs import ClassInfo, Run, RunConfig, RunFolder, Search
from neuralfactors._runs.lock import alone_in
from neuralfactors._runs.records import now
from neuralfactors.datasets import ImageFolder
from neuralfactors.learning._distributed import Ranks

PACKAGES = ("neuralfactors", "torch", "numpy", "scipy", "scikit-learn", "scikit-image", "pillow")
logger = logging.getLogger(__name__)


def train(config: RunConfig, out: str | os.PathLike[str], means: Means | None = None, command: str = "") -> Path:
    """Train and evaluate the variants of a run into the folder `out`, which is returned; if killed, it can be resumed.

    Of several processes under `torchrun`, all train, and the first one alone describes images, evaluates and writes.
    """
    folder, ranks = RunFolder(Path(out)), Ranks.current()
    if ranks.leads:
        folder.refuse_begun()  # before the work of looking at all images
    check_config(config)  # which trains a little, with all ranks
    if not ranks.leads:
        ranks.wait()  # until the run has begun
        return resume_run(folder, means or Means())
    data = open_data(config)
    run = describe_run(config, data, command)
    with alone_in(folder.path), threads_of(run):
        folder.refuse_begun()
        folder.document.write(run)
        ranks.wait()
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
        return folder.path  # to see that, no lock is needed
    with leader_alone_in(folder.path), threads_of(run):
        data = open_data(run.settings)
        refuse_changed(run, data)
        return _train_rows(run, data, folder, means)


def leader_alone_in(folder: Path) -> AbstractContextManager[None]:
    """Nobody else in `folder` but the other ranks, for which the first one answers."""
    return alone_in(folder) if Ranks.current().leads else nullcontext()


def _train_rows(run: Run, data: ImageFolder, folder: RunFolder, means: Means) -> Path:
    """The rows that are not done yet, on data prepared once; returns the folder."""
    config, ranks = run.settings, Ranks.current()
    left = [row for row in folder.rows() if not row.is_done]
    if left:
        with ranks.leader_first():
            prepared = prepare(config, data, folder, means, write=ranks.leads)
        logger.info("%s", told_images(config, data, prepared))
        for line in filter(None, told_regions(prepared)):
            logger.info("%s", line)
        if prepared.test is not None and config.n_examples and ranks.leads:
            write_examples(folder, prepared.test, data.classes.palette, config.n_examples)
        for number, row in enumerate(left, 1):
            logger.info("training %s%s", row.variant, f" ({number} of {len(left)})" if len(left) > 1 else "")
            (train_row if ranks.leads else help_train_row)(row, config, prepared, verbose=means.verbose)
    if ranks.leads:
        folder.document.write(run.ended())
    ranks.wait()
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
