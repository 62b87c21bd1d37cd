"""The experiment on the claims: trials for every side on validation images, then all seeds on test images."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import write_atomically
from neuralfactors._common.parameters import Parameter
from neuralfactors._experiment.claims.bootstrap import MEASURES, Counts, interval, paired, resampled
from neuralfactors._experiment.claims.recipes import (
    CLAIMS,
    RECIPES,
    SYNERGY,
    Regression,
    check_claims,
    check_regressions,
    needed,
)
from neuralfactors._experiment.claims.training import BASIS, Bench
from neuralfactors._experiment.data import Means, Prepared, open_data, prepare, used_splits
from neuralfactors._experiment.models import check_config, targets_of
from neuralfactors._experiment.tuning.space import Dimension, Plan
from neuralfactors._runs import RunConfig, RunFolder
from neuralfactors._runs.claims import ClaimFigures, ClaimsReport, Interval, SideFigures, claims_document
from neuralfactors._runs.documents import Document
from neuralfactors._runs.lock import alone_in
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation._evaluation import PARTS

logger = logging.getLogger(__name__)
DECADES = 1.0  # how far trials go up and down from the rates that a side begins with


@dataclass(frozen=True)
class Chosen:
    """What the trials of a side have found so far."""

    rates: Mapping[str, float]
    score: float
    scores: tuple[float, ...]  # of all trials that were made


@dataclass(frozen=True)
class Study:
    """What to try: claims, kinds of regression, seeds, and trials for every side."""

    # the images to learn from and to be judged by, and the settings that all sides share, those of int+nrl
    config: RunConfig
    tuning: RunConfig  # the images that trials learn from and are judged by
    claims: tuple[str, ...]  # keys of `CLAIMS`
    regressions: tuple[Regression, ...]  # how well the regression is trained that sides have in common
    seeds: tuple[int, ...]  # of words, training and order
    n_trials: int  # pairs of rates that every side may choose from; the first is what it begins with

    def __post_init__(self) -> None:
        check_claims(list(self.claims))
        check_regressions(self.claims, self.regressions)
        if self.n_trials < 1 or not self.seeds:
            raise ValueError(f"there must be a seed and a trial, got seeds {self.seeds} and {self.n_trials} trials")


def settle_claims(study: Study, out: str | os.PathLike[str], means: Means | None = None, command: str = "") -> Path:
    """Do what `study` says; what is in the folder `out` already is not done again. The file of the report."""
    folder, means = Path(out), means or Means()
    if used_splits(study.config, open_data(study.config))["test"] is None:
        raise ValueError(
            f"{study.config.data} has no split {study.config.splits.test} to judge by: name one with --test"
        )
    if used_splits(study.tuning, open_data(study.tuning))["val"] is None:
        raise ValueError("there is no validation split to choose rates by: use --validate")
    check_config(study.config)
    with alone_in(folder):
        _refuse_others(study, folder)
        run = _Running(study, folder, means)
        for regression in study.regressions:
            for recipe in needed(study.claims, regression):
                run.choose(recipe, regression)
        for seed in study.seeds:
            for regression in study.regressions:
                run.judge_all(seed, regression)
        report = run.report(command)
        claims_document(folder).write(report)
    return claims_document(folder).path


@dataclass(frozen=True)
class _Basis:
    """What rates and counts in a folder depend on; claims and seeds may be added to."""

    settings: RunConfig
    tuning: RunConfig
    n_trials: int


def _refuse_others(study: Study, folder: Path) -> None:
    basis = _Basis(study.config.resolved(), study.tuning.resolved(), study.n_trials)
    kept = Document(_Basis, folder / "basis.json")
    if kept.read() not in (None, basis):
        raise ValueError(f"{folder} contains an experiment with other settings: choose another folder")
    kept.write(basis)


class _Running:
    """A study in its folder: rates by side, and counts of pixels by side and seed."""

    def __init__(self, study: Study, folder: Path, means: Means) -> None:
        self.study, self.folder, self.means = study, folder, means
        self._prepared: dict[tuple[str, int], Prepared] = {}

    def bench(self, use: str, regression: Regression, seed: int) -> Bench:
        """The images for "trials" or "seeds", and what all sides share on them."""
        config = replace(self.study.tuning if use == "trials" else self.study.config, seed=seed)
        if (use, seed) not in self._prepared:
            place = RunFolder(self.folder / f"{use}-{seed}")
            self._prepared = {(use, seed): prepare(config, open_data(config), place, self.means)}
        return Bench(config, self._prepared[use, seed], regression)

    def choose(self, recipe: str, regression: Regression) -> Chosen:
        """The rates of a side by its trials, of which those that an interruption has left are not made again."""
        kept = Document(Chosen, self.folder / "rates" / f"{recipe}-{regression}.json")
        found = kept.read()
        if found is None or len(found.scores) < self.study.n_trials:
            bench = self.bench("trials", regression, self.study.seeds[0])
            found = self._search(bench, recipe, kept, found.scores if found else ())
        return found

    def _search(self, bench: Bench, recipe: str, kept: Document[Chosen], known: Sequence[float]) -> Chosen:
        """The best rates of a side; the scores of the trials that are `known` are not computed again."""
        start, begun = self._start(bench, recipe), bench.rates(recipe)
        space = [Dimension(name, now / 10**DECADES, now * 10**DECADES, now) for name, now in begun.items()]
        plan = Plan(space, self.study.n_trials, bench.config.seed)
        tried: list[tuple[dict[str, float], float]] = []
        for number in range(self.study.n_trials):
            best = max(range(min(number, plan.n_coarse)), key=lambda n: tried[n][1], default=None)
            rates = {**begun, **plan.parameters(number, best if number >= plan.n_coarse else None)}
            if number < len(known):
                tried.append((rates, known[number]))
                continue
            tried.append((rates, _score(bench, recipe, rates, start)))
            logger.info("%s, %s regression, trial %d: %.4f", recipe, bench.regression, number, tried[-1][1])
            kept.write(_best(tried))
        return _best(tried)

    def _start(self, bench: Bench, recipe: str) -> StructuralSVM | None:
        """The solution that a side trains on from, with the rates that were chosen for it."""
        start = RECIPES[recipe].start
        return bench.fit(start, self.choose(start, bench.regression).rates) if start else None

    def counts_path(self, recipe: str, regression: str, seed: int) -> Path:
        """Where the counts of a side with a seed are."""
        return self.folder / "counts" / f"{recipe}-{regression}-{seed}.npy"

    def judge_all(self, seed: int, regression: Regression) -> None:
        """Train all sides that have not been judged with that seed; those that start from one share its solution."""
        starts: dict[str, StructuralSVM] = {}
        for recipe in needed(self.study.claims, regression):
            if self.counts_path(recipe, regression, seed).exists():
                continue
            bench, begins = self.bench("seeds", regression, seed), RECIPES[recipe].start
            if begins and begins not in starts:
                starts[begins] = bench.fit(begins, self.choose(begins, regression).rates)
            model = bench.fit(recipe, self.choose(recipe, regression).rates, starts[begins] if begins else None)
            starts |= {recipe: model} if begins is None else {}
            assert bench.prepared.test is not None
            counts = bench.confusions(model, bench.prepared.test)
            _write_counts(self.counts_path(recipe, regression, seed), counts)
            logger.info("%s, %s regression, seed %d is judged", recipe, regression, seed)

    def report(self, command: str) -> ClaimsReport:
        """All figures."""
        study = self.study
        claims = tuple(
            self._claim(key, regression)
            for key in study.claims
            for regression in study.regressions
            if regression in CLAIMS[key].regressions
        )
        bench = self.bench("seeds", study.regressions[0], study.seeds[-1])
        targets = targets_of(bench.config, BASIS)
        n_images = 0 if bench.prepared.test is None else len(bench.prepared.test.X)
        shared: dict[str, Parameter] = {**bench.shared(), **vars(targets)}
        settings = study.config.resolved()
        return ClaimsReport(settings, shared, study.seeds, study.n_trials, n_images, command, claims)

    def _claim(self, key: str, regression: Regression) -> ClaimFigures:
        """The figures of a claim: both sides, their difference and, for some, the synergy."""
        claim = CLAIMS[key]
        sides = {recipe: self._counts(recipe, regression) for recipe in (claim.better, claim.worse)}
        better, worse = sides[claim.better], sides[claim.worse]
        joint = PARTS.index("joint")
        return ClaimFigures(
            key, claim.text, regression,
            self._side(claim.better, regression, better), self._side(claim.worse, regression, worse),
            {measure: paired(better[joint], worse[joint], measure) for measure in MEASURES},
            _synergies(better, worse) if key in SYNERGY else {},
        )  # fmt: skip

    def _counts(self, recipe: str, regression: str) -> Counts:
        """Pixels (3, S, N, L, L) of a side, by part of the model, seed and image."""
        found = [np.load(self.counts_path(recipe, regression, seed)) for seed in self.study.seeds]
        return np.stack(found, axis=1).astype(np.float64)

    def _side(self, recipe: str, regression: Regression, counts: Counts) -> SideFigures:
        parts = {
            part: {name: float(measure(each.sum(axis=1)).mean()) for name, measure in MEASURES.items()}
            for part, each in zip(PARTS, counts, strict=True)
        }
        return SideFigures(RECIPES[recipe].name, self.choose(recipe, regression).rates, parts)


def _best(tried: Sequence[tuple[Mapping[str, float], float]]) -> Chosen:
    rates, score = max(tried, key=lambda each: each[1])
    return Chosen(rates, score, tuple(each[1] for each in tried))


def _score(bench: Bench, recipe: str, rates: Mapping[str, float], start: StructuralSVM | None) -> float:
    """What a trial reaches; nothing where its training diverges."""
    try:
        return bench.score(bench.fit(recipe, rates, start))
    except ValueError as error:
        logger.info("%s: %s", recipe, error)
        return 0.0


def _synergies(better: Counts, worse: Counts) -> dict[str, dict[str, Interval]]:
    """How much more the first side gains by having both parts than the second does, by two definitions.

    "interaction" is the paper's: over the interactions alone. "part" is the gain over the better part.
    """
    alone = {"interaction": ["interaction"], "part": ["unary", "interaction"]}
    return {
        name: {measure: _more_synergy(better, worse, measure, parts) for measure in MEASURES}
        for name, parts in alone.items()
    }


def _more_synergy(better: Counts, worse: Counts, measure: str, parts: Sequence[str]) -> Interval:
    def difference(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        return _gain(better, measure, draws, parts) - _gain(worse, measure, draws, parts)

    return interval(difference, *better.shape[1:3])


def _gain(counts: Counts, measure: str, draws: NDArray[np.float64], parts: Sequence[str]) -> NDArray[np.float64]:
    by_part = {part: resampled(each, measure, draws) for part, each in zip(PARTS, counts, strict=True)}
    return np.asarray(by_part["joint"] - np.max([by_part[part] for part in parts], axis=0))


def _write_counts(path: Path, counts: NDArray[np.int64]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = BytesIO()
    np.save(file, counts, allow_pickle=False)
    write_atomically(path, file.getvalue())
