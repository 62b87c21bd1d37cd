"""The paper's findings, decided by differences between two variants, or between parts of one, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuralfactors._report.charts import svg
from neuralfactors._report.published import Published
from neuralfactors._report.results import RunResults, deviation, mean
from neuralfactors._report.tables import MEASURES, PARTS, part_accuracy
from neuralfactors._runs import NAMES

PAIRS = (
    ("Integrated training beats bifurcated, with neural interactions", "int+nrl", "bif+nrl"),
    ("Integrated training beats bifurcated, with linear interactions", "int+lin", "SGD"),
    ("Integrated training beats bifurcated, with linear interactions", "int+lin", "CP"),
    ("Neural interactions beat linear ones in integrated training", "int+nrl", "int+lin"),
    ("Neural interactions beat linear ones in bifurcated training", "bif+nrl", "SGD"),
    ("Integrated training beats bifurcated with as many hidden units as classes", "int+lin-dagger", "SGD"),
    ("Three hidden layers beat one", "3-layer", "int+nrl"),
)
WITH_SYNERGY = ("int+nrl", "bif+nrl")
NOT_MEASURED = "not measured"
BySeed = Mapping[Any, float]  # a figure with each seed


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, with the differences that decide it here and those in the paper."""

    claim: str
    verdict: str  # see `verdict`
    ours: str
    paper: str


def findings(results: RunResults, paper: Published) -> list[Finding]:
    """The paper's claims, each decided by the figures of this run, or of all seeds of a comparison."""
    found = []
    for claim, better, worse in PAIRS:
        ours = [gains(results.by_seed(better, key), results.by_seed(worse, key)) for key in MEASURES]
        found.append(
            Finding(title(claim, better, worse), verdict(ours), points(ours), paper_gain(paper, better, worse))
        )
    for variant in WITH_SYNERGY:
        if results.row(variant):
            joint = [synergy(results, variant, key) for key in MEASURES]
            claim = f"The two kinds of factor of {variant} together beat the better kind alone"
            found.append(Finding(claim, verdict(joint), points(joint), "–"))
    return found


def title(claim: str, better: str, worse: str) -> str:
    """The claim with the names of its two variants."""
    return f"{claim} ({NAMES[better].printed} against {NAMES[worse].printed})"


def paper_gain(paper: Published, better: str, worse: str) -> str:
    """The difference of the two variants in the paper, both measures, or a dash."""
    if better not in paper.rows or worse not in paper.rows:
        return "–"
    return points([[getattr(paper.rows[better], key) - getattr(paper.rows[worse], key)] for key in MEASURES])


def gains(better: BySeed, worse: BySeed) -> list[float]:
    """Differences with each seed that both have."""
    return [value - worse[seed] for seed, value in better.items() if seed in worse]


def synergy(results: RunResults, variant: str, key: str) -> list[float]:
    """How much better both kinds of factors of a variant do than the better kind alone, with each seed."""
    found = []
    for row in results.repeats(variant).values():
        unary, interaction, joint = (getattr(part_accuracy(row.metrics, part), key) for part in PARTS)
        if unary is not None and interaction is not None and joint is not None:
            found.append(joint - max(unary, interaction))
    return found


def verdict(measures: Sequence[Sequence[float]]) -> str:
    """What the differences by each measure say of a claim.

    It "holds" where every seed is better by every measure, "holds on average" where the means are, "holds in part"
    where the mean of one measure is, else it "does not hold"; "not measured" where there is nothing to judge by.
    """
    known = [list(values) for values in measures if values]
    if not known:
        return NOT_MEASURED
    if all(value > 0 for values in known for value in values):
        return "holds"
    better = [(mean(values) or 0.0) > 0 for values in known]
    return "holds on average" if all(better) else "holds in part" if any(better) else "does not hold"


def points(measures: Sequence[Sequence[float]]) -> str:
    """The mean differences and their standard deviations over the seeds, in points, one measure after the other."""
    if not any(measures):
        return "–"
    return " / ".join(svg.signed(mean(values)) + svg.plus_minus(deviation(values)) for values in measures)
