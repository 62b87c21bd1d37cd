"""The command that tests the paper's claims: claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuralfactors._cli import choices, options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import show_claims
from neuralfactors._runs import RunConfig

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
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds to train every side with.")] = 5,
    trials: Annotated[int, typer.Option(min=1, help="Pairs of learning rates to try for every side.")] = 6,
    settings: options.Settings = None,
    changes: options.Changes = None,
    regions: options.Regions = None,
    epochs: choices.Epochs = None,
    limit: choices.Limit = None,
    mirror: options.Mirror = None,
    split: choices.Split = None,
    validate: choices.Validate = None,
    test: Annotated[str | None, typer.Option(help="Split to judge by.", show_default="test")] = None,
    void: options.Void = None,
    drop: options.Drop = None,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Test the paper's claims by pairs of models that differ in one thing only.

    All sides share the settings of int+nrl and, where they have one, the regression. Learning rates are chosen for
    every side by as many trials on validation images; then every seed is trained and judged on the test images.
    Differences come with 95 % intervals of a bootstrap over images and seeds, paired by both. The figures are in
    RUN/claims.json. To continue an interrupted experiment, repeat the command.
    """
    from neuralfactors._experiment.claims.recipes import CLAIMS, REGRESSIONS, check_claims
    from neuralfactors._experiment.claims.study import Study, settle_claims
    from neuralfactors._experiment.claims.training import BASIS, BIFURCATED

    names = list(CLAIMS) if claims == "all" else check_claims(list(options.listed(claims)))
    kinds = tuple(kind for kind in REGRESSIONS if kind in options.listed(regressions))
    if len(kinds) != len(set(options.listed(regressions))):
        raise ValueError(f"regressions must be some of {', '.join(REGRESSIONS)}, got {regressions!r}")
    chosen = choices.Choices(
        data, preset, "bow", settings, regions, epochs, limit, mirror, split, validate, void, drop,
        RunConfig.procedure, changes,
    )  # fmt: skip
    rows = (BASIS, BIFURCATED)
    study = Study(
        chosen.config(rows, test=test),
        chosen.config(rows, tuning=True),
        tuple(names),
        kinds,
        tuple(range(seeds)),
        trials,
    )
    with options.resumable(out):
        path = settle_claims(study, out, options.means(cache, jobs, None), options.command_line())
    show_claims(path.parent, as_json=as_json)
    tell(f"The figures are in {path}.")
