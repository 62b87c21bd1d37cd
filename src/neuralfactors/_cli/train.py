"""The command that trains a model: train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.report import tell_report
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import show_rows
from neuralfactors._common.parameters import Parameter
from neuralfactors._runs import USUAL, RunConfig, RunFolder, Splits, typed, variant_key
from neuralfactors._runs.config import Parameters


@command("train", "neuralfactors train photos --out runs/photos --features bow+cnn")
def train(
    data: options.Data,
    out: options.NewRun,
    variant: options.Variant = USUAL,
    features: options.Features = "bow",
    regions: options.Regions = None,
    regions_from: options.RegionsFrom = None,
    features_from: options.FeaturesFrom = None,
    pages: options.Pages = None,
    backbone: options.Backbone = None,
    finetune: options.Finetune = None,
    epochs: options.Epochs = None,
    balance: options.Balance = None,
    split: options.Split = Splits.train,
    validate: options.Validate = "val",
    mirror: options.Mirror = None,
    varied: options.Varied = None,
    void: options.Void = None,
    drop: options.Drop = None,
    seed: options.Seed = RunConfig.seed,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    settings: options.Settings = None,
    procedure: options.Procedure = RunConfig.procedure,
    changes: options.Changes = None,
) -> None:
    """Train a model on a folder of labelled pictures.

    Ctrl-C is safe: 'resume' continues the run.
    """
    from neuralfactors import _experiment as experiment

    key, (began, of_model) = variant_key(variant), options.begin(procedure, changes, max_iter=epochs, balance=balance)
    described = {**began.features, **options.feature_options(features, regions, backbone, finetune)}
    config = RunConfig(
        str(data), (key,), "train", described, _parameters(key, began.parameters, settings, of_model), None,
        Splits(split, validate, validate), mirror=bool(mirror), varied=varied or 0, seed=seed, procedure=procedure,
        images=options.image_options(void, drop, regions_from, regions, features_from, features, pages))  # fmt: skip
    with options.resumable(out):
        experiment.train(config, out, options.means(cache, jobs, dask), options.command_line())
    show_rows(RunFolder(out))
    tell(f"The model is in {out}. Next: neuralfactors predict {typed(out)} IMAGES --out DIR")
    tell_report(out)


def _parameters(
    key: str, began: Parameters, files: Sequence[Path] | None, changes: Mapping[str, Parameter]
) -> Parameters:
    """What the procedure began with, changed by files of settings, and by options last."""
    from neuralfactors import _experiment as experiment

    layers = [*experiment.read_settings_of(files or (), [key]), experiment.changes_for([key], changes)]
    return experiment.parameters_of([key], began, *layers)
