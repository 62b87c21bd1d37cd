"""Comparisons: the same rows trained with several seeds, an ordinary run folder ``seed-K`` for each."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.data import Means, open_data, open_folder, refuse_changed, used_splits
from neuralfactors.experiment.folder import RUN_FILE, SEEDS, RunFolder, write_json
from neuralfactors.experiment.rehearsal import check_config
from neuralfactors.experiment.threads import threads_of
from neuralfactors.experiment.training import now, resume_run, run, run_document
from neuralfactors.experiment.tuning.search import resume_tuning
from neuralfactors.runs.lock import alone_in

logger = logging.getLogger(__name__)


def compare(
    config: RunConfig, seeds: Sequence[int], out: str | os.PathLike[str], means: Means | None = None, command: str = ""
) -> Path:
    """The folder `out`, after the rows of `config` have been trained and evaluated with every seed.

    A comparison of the same settings that is there already is gone on with; more seeds may be asked of it. Where the
    images have no `test_split`, rows are evaluated on `val_split`; ValueError where they have neither.
    """
    seeds = tuple(dict.fromkeys(seeds))
    if not seeds:
        raise ValueError("seeds must name at least one seed")
    config = replace(config, seed=seeds[0])
    data = open_folder(config)
    if not used_splits(config, data)["test"]:
        missing, config = config.test_split, replace(config, test_split=config.val_split)
        if not used_splits(config, data)["test"]:
            raise ValueError(
                f"{data.root} has neither {missing} nor {config.val_split} to evaluate rows on: use --test"
            )
        logger.info("There is no split %s: rows are evaluated on %s", missing, config.test_split)
    folder = RunFolder(Path(out))
    if not (folder.path / RUN_FILE).exists():
        check_config(config)
        open_data(config)  # refuses what cannot be learnt from before anything is written
    with alone_in(folder.path):
        begun = (folder.path / RUN_FILE).exists()  # perhaps only now, by another process
        fresh = {**run_document(config, data, command), SEEDS: list(seeds)}
        document = _begun(folder, config, seeds) if begun else fresh
        write_json(folder.path / RUN_FILE, document)
        return _go_on(folder, document, means or Means())


def _begun(folder: RunFolder, config: RunConfig, seeds: Sequence[int]) -> dict[str, Any]:
    """The document of the comparison in `folder`, with all of `seeds`; refused where it has other settings."""
    document = folder.document()
    former = document.get(SEEDS)
    folder.refuse_unless(former is not None and set(former) <= set(seeds) and config.is_that_of(document["settings"]))
    return document | ({SEEDS: list(seeds), "finished": None} if former != list(seeds) else {})


def resume(path: str | os.PathLike[str], means: Means | None = None) -> Path:
    """The folder of a run, a comparison or a search for settings, after what was left to do in it is done."""
    folder = RunFolder.open(path)
    document = folder.document()
    if document["kind"] == "tune":
        resume_tuning(folder, means or Means())
        return folder.path
    if SEEDS not in document:
        return resume_run(path, means)
    with alone_in(folder.path):
        return _go_on(folder, folder.document(), means or Means())


def _go_on(folder: RunFolder, document: dict[str, Any], means: Means) -> Path:
    with threads_of(document):
        whole = RunConfig(**document["settings"])
        if not document["finished"]:
            refuse_changed(document, whole, open_folder(whole))
        for seed in document[SEEDS]:
            config = replace(whole, seed=seed, split_seed=whole.seed)  # all seeds are judged by the same images
            place = folder.seed(seed)
            if (place / RUN_FILE).exists():
                resume_run(place, means)
            else:
                run(config, place, means, document["command"])
    if not document["finished"]:
        write_json(folder.path / RUN_FILE, {**document, "finished": now()})
    return folder.path
