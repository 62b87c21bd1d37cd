"""The sides of the paper's claims: models that share all settings but the one thing that a claim is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from neuralfactors._experiment.variants import N_LABELS

Units = tuple[int | str, ...]
Regression = Literal["full", "weak"]
REGRESSIONS: tuple[Regression, ...] = ("full", "weak")
FULL: tuple[Regression, ...] = ("full",)


@dataclass(frozen=True)
class Recipe:
    """How one side is made."""

    name: str  # what pages call it
    interaction: Units  # hidden units of the interaction factor; () is linear
    # Hidden units of the unary factor, which is trained with the interactions. None: a linear factor of the
    # outputs of a regression that was trained before.
    unary: Units | None = None
    start: str | None = None  # the recipe whose solution this one trains further, for as many epochs again
    frozen: bool = False  # whether that regression stays as it is


LINEAR: Units = ()
NEURAL: Units = (512,)
RECIPES = {
    "bif-lin": Recipe("bifurcated, linear interactions", LINEAR, frozen=True),
    "bif-nrl": Recipe("bifurcated, neural interactions", NEURAL, frozen=True),
    "bif-lin-on": Recipe("bifurcated, linear interactions, trained on", LINEAR, start="bif-lin", frozen=True),
    "int-lin-on": Recipe("the same solution, trained on as one network", LINEAR, start="bif-lin"),
    "bif-nrl-on": Recipe("bifurcated, neural interactions, trained on", NEURAL, start="bif-nrl", frozen=True),
    "int-nrl-on": Recipe("the same solution, trained on as one network", NEURAL, start="bif-nrl"),
    "int-lin": Recipe("integrated, linear interactions", LINEAR, (256,)),
    "int-nrl": Recipe("integrated, neural interactions", NEURAL, (256,)),
    "int-lin-dagger": Recipe("integrated, one hidden unit a class, linear interactions", LINEAR, (N_LABELS,)),
    "3-layer": Recipe("integrated, three hidden layers", NEURAL * 3, (256,) * 3),
}


@dataclass(frozen=True)
class Claim:
    """That one side is better than the other."""

    text: str
    better: str  # a recipe
    worse: str  # another one
    # Under which of them it is tested: where no side has a regression, a weak one would change nothing.
    regressions: tuple[Regression, ...] = REGRESSIONS


CLAIMS = {
    "integrated-neural": Claim("Integrated training beats bifurcated, neural interactions", "int-nrl-on", "bif-nrl-on"),
    "integrated-linear": Claim("Integrated training beats bifurcated, linear interactions", "int-lin-on", "bif-lin-on"),
    "neural-integrated": Claim(
        "Neural interactions beat linear ones in integrated training", "int-nrl", "int-lin", FULL
    ),
    "neural-bifurcated": Claim("Neural interactions beat linear ones in bifurcated training", "bif-nrl", "bif-lin"),
    "depth": Claim("Three hidden layers beat one", "3-layer", "int-nrl", FULL),
    "dagger": Claim("int†+lin beats SGD", "int-lin-dagger", "bif-lin"),
}
# Claims whose sides are also compared by what their parts do alone.
SYNERGY = ("integrated-neural", "integrated-linear")


def needed(claims: Sequence[str], regression: Regression) -> list[str]:
    """The recipes of those of `claims` that are tested with `regression`, each after the one that it starts from."""
    found: dict[str, None] = {}
    for claim in claims:
        if regression not in CLAIMS[claim].regressions:
            continue
        for key in (CLAIMS[claim].worse, CLAIMS[claim].better):
            start = RECIPES[key].start
            found |= {start: None} if start else {}
            found[key] = None
    return list(found)


def check_claims(names: list[str]) -> list[str]:
    """`names`, refused where there is no such claim."""
    for name in names:
        if name not in CLAIMS:
            raise ValueError(f"claims must be some of {', '.join(CLAIMS)}, got {name!r}")
    return names


def check_regressions(claims: Sequence[str], regressions: Sequence[Regression]) -> None:
    """Refuse claims that none of `regressions` has a bearing on."""
    for name in claims:
        if not set(CLAIMS[name].regressions) & set(regressions):
            raise ValueError(f"no side of {name} has a regression that could be weak: use --regressions full")
