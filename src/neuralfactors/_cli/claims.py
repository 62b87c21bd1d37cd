"""The command that tests the paper's claims: claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuralfactors._cli import choices, options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import show_claims

if TYPE_CHECKING:
    from neuralfactors._experiment.claims.study import Study

Names = Annotated[str, typer.Option(metavar="NAMES", help="Claims to test, separated by commas, or all.")]
Regressions = Annotated[
    str, typer.Option(metavar="KINDS", help="How well the regression that sides share is trained: full, weak or both.")
]


@command("claims", "neuralfactors claims msrc21 --preset msrc21 --seeds 5 --trials 6 --out runs/claims")
def claims(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the experiment.")],
    preset: choices.PresetName = None,
    claims: Names = "all",
    regressions: Regressions = "full,weak",
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Number of seeds to train every side with.")] = 5,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Pairs of learning rates to try for every side.")] = 6,
    settings: options.Settings = None,
    changes: options.Changes = None,
    regions: options.Regions = None,
    epochs: choices.Epochs = None,
    limit: choices.Limit = None,
    mirror: options.Mirror = None,
    varied: options.Varied = None,
    split: choices.Split = None,
    validate: choices.Validate = None,
    test: Annotated[str | None, typer.Option(metavar="SPLIT", help="Split to evaluate.", show_default="test")] = None,
    void: options.Void = None,
    drop: options.Drop = None,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Test the paper's claims by experiments.

    Each claim compares two models that differ in one thing only. All sides share the settings of int+nrl and, where
    they have one, the regression. Every side chooses its learning rates by equally many trials on validation images.
    Then it is trained with every seed and evaluated on the test images. Differences come with 95 % intervals of a
    bootstrap over images and seeds, paired by both. The figures are in RUN/claims.json. To continue an interrupted
    experiment, repeat the command.
    """
    from neuralfactors._experiment.claims.study import settle_claims

    chosen = choices.Choices(
        data, preset, "bow", settings, regions, epochs, limit, mirror, varied, split, validate, void, drop,
        changes=changes,
    )  # fmt: skip
    study = _study(chosen, claims, regressions, test, range(seeds), trials)
    with options.resumable(out):
        path = settle_claims(study, out, options.means(cache, jobs, None), options.command_line())
    show_claims(path.parent, as_json=as_json)
    tell(f"The figures are in {path}.")


def _study(
    chosen: choices.Choices, claims: str, regressions: str, test: str | None, seeds: Iterable[int], trials: int
) -> Study:
    """The study that the options ask for."""
    from neuralfactors._experiment.claims.recipes import CLAIMS, REGRESSIONS, check_claims
    from neuralfactors._experiment.claims.study import Study
    from neuralfactors._experiment.claims.training import BASIS, BIFURCATED

    names = list(CLAIMS) if claims == "all" else check_claims(list(options.listed(claims)))
    kinds = tuple(kind for kind in REGRESSIONS if kind in options.listed(regressions))
    if len(kinds) != len(set(options.listed(regressions))):
        raise ValueError(f"regressions must be some of {', '.join(REGRESSIONS)}, got {regressions!r}")
    judged, tuned = (chosen.config((BASIS, BIFURCATED), tuning=tuning) for tuning in (False, True))
    judged = replace(judged, splits=options.with_given(judged.splits, test=test))
    return Study(judged, tuned, tuple(names), kinds, tuple(seeds), trials)
