"""What an experiment on the paper's claims records: sides, differences with intervals, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neuralfactors._common.parameters import Parameter
from neuralfactors._runs.config import RunConfig
from neuralfactors._runs.documents import Document


@dataclass(frozen=True)
class Interval:
    """A difference of shares, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SideFigures:
    """A side of a claim: what was chosen for it, and what it reaches, as means over the seeds."""

    name: str
    chosen: Mapping[str, float]  # learning rates by the trials on validation images
    parts: Mapping[str, Mapping[str, float]]  # by unary, interaction and joint: pixel and class_mean


@dataclass(frozen=True)
class ClaimFigures:
    """A claim: its sides, their difference by both measures, and that of their synergies where it is about those."""

    claim: str
    text: str
    regression: str  # "full" or "weak"
    better: SideFigures
    worse: SideFigures
    difference: Mapping[str, Interval]  # by pixel and class_mean
    synergy: Mapping[str, Mapping[str, Interval]]  # by definition, then by measure: of the first less of the second

    @property
    def verdict(self) -> str:
        """What the intervals say."""
        return verdict(self.difference)


@dataclass(frozen=True)
class ClaimsReport:
    """All claims of an experiment, and what every side of them shares."""

    settings: RunConfig
    shared: Mapping[str, Parameter]  # parameters
    seeds: tuple[int, ...]
    n_trials: int
    n_images: int  # of the split that sides are judged by
    command: str
    claims: tuple[ClaimFigures, ...]


def claims_document(folder: Path) -> Document[ClaimsReport]:
    """Where the report of an experiment in `folder` is."""
    return Document(ClaimsReport, folder / "claims.json")


def verdict(difference: Mapping[str, Interval]) -> str:
    """What the intervals of all measures say of a claim.

    It "holds" if no measure is worse and one interval lies above zero, "does not hold" if no measure is better and one
    lies below; else the images leave it "undecided".
    """
    found = difference.values()
    if all(each.value >= 0 for each in found) and any(each.low > 0 for each in found):
        return "holds"
    if all(each.value <= 0 for each in found) and any(each.high < 0 for each in found):
        return "does not hold"
    return "undecided"
