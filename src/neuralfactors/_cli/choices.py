"""Options that `compare` and `tune` share, and the run that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuralfactors._cli import options
from neuralfactors._runs import RunConfig, Splits, variant_key
from neuralfactors._runs.config import ImageOptions
from neuralfactors._runs.names import ALL_VARIANTS

if TYPE_CHECKING:
    from neuralfactors._experiment import Preset

PresetName = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="SET", help="Settings for one of the paper's data sets: msrc21, kitti or siftflow."
    ),
]
Features = Annotated[str, typer.Option(metavar="KIND", help="bow, cnn or bow+cnn; with a preset, bow or cnn.")]
Epochs = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Passes over the images.", show_default="25; unary 50, CP at most 100"),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(metavar="[VARIANT=]N", help="Learn from N training images, drawn at random; repeatable."),
]
Split = Annotated[
    str | None, typer.Option(metavar="SPLIT", help="Split to learn from; join several with +.", show_default="train")
]
Validate = Annotated[
    str | None, typer.Option(metavar="SPLIT", help="Split to monitor training on.", show_default="val")
]


@dataclass(frozen=True)
class Choices:
    """What was chosen of these options; None keeps what the preset says, or the default."""

    data: Path
    preset: str | None
    features: str
    settings: Sequence[Path] | None
    regions: str | None
    epochs: int | None
    limit: Sequence[str] | None
    mirror: bool | None
    varied: int | None
    split: str | None
    validate: str | None
    void: Sequence[str] | None
    drop: Sequence[str] | None
    procedure: str = RunConfig.procedure
    changes: Sequence[str] | None = None
    regions_from: Path | None = None
    features_from: Path | None = None
    pages: str | None = None

    @cached_property
    def known(self) -> Preset | None:
        """The preset that was named."""
        from neuralfactors._experiment import Preset

        return Preset.read(self.preset) if self.preset else None

    def config(
        self, variants: Sequence[str], *, tuning: bool = False, seed: int = RunConfig.seed, **splits: Any
    ) -> RunConfig:
        """The run of `variants`: settings of files replace those of the preset, options replace both.

        `splits` are fields of `Splits` that only one of the commands has.
        """
        from neuralfactors._experiment import changes_for, parameters_of, read_settings_of

        config = self._start(variants, tuning=tuning)
        features, parameters = options.changes(self.changes, max_iter=self.epochs)
        layers = read_settings_of(self.settings or (), variants)
        return replace(
            config,
            seed=seed,
            splits=options.with_given(config.splits, train=self.split, val=self.validate, **splits),
            mirror=config.mirror if self.mirror is None else self.mirror,
            varied=config.varied if self.varied is None else self.varied,
            features={**config.features, **features, **options.region_options(self.regions)},
            parameters=parameters_of(variants, config.parameters, *layers, changes_for(variants, parameters)),
            limits={**config.limits, **_limits(self.limit or (), variants)},
            images=self._images(config.images),
        )

    def _images(self, known: ImageOptions) -> ImageOptions:
        void, drop = (*known.void, *(self.void or ())), (*known.drop, *(self.drop or ()))
        return options.image_options(
            void, drop, self.regions_from, self.regions, self.features_from, self.features, self.pages
        )

    def _start(self, variants: Sequence[str], *, tuning: bool) -> RunConfig:
        """The run as the preset begins it or, without one, the procedure."""
        from neuralfactors._experiment import procedure_called

        if self.known:
            return self.known.config(str(self.data), self.features, variants, tuning=tuning, procedure=self.procedure)
        began = procedure_called(self.procedure)
        features, splits = {"features": self.features, **began.features}, Splits(test="test")
        return RunConfig(
            str(self.data), tuple(variants), "compare", features, began.parameters, None, splits,
            procedure=self.procedure,
        )  # fmt: skip


def _limits(limits: Sequence[str], variants: Sequence[str]) -> dict[str, int]:
    """Numbers of training images by variant, "*" for all, of options such as `CP=300`."""
    found = {}
    for limit in limits:
        name, _, number = limit.rpartition("=")
        if not number.isdecimal():
            raise ValueError(f"limit must be a number of images, or VARIANT=N, got {limit!r}")
        key = variant_key(name) if name else ALL_VARIANTS
        if name and key not in variants:
            told = f"the variants are {', '.join(variants)}"
            raise ValueError(f"limit {limit!r} names a variant that is not in this run; {told}")
        found[key] = int(number)
    return found
