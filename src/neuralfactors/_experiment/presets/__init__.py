"""The paper's image sets: classes, splits, features and settings chosen on validation images, a JSON file each.

To put in other settings, edit "features" → "bow" or "cnn" → "parameters" of the file: changes of the estimators'
parameters by row, "*" for all rows, as `RunConfig` takes them; "balance" among them is that of the Segmenter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralfactors._common.parameters import Parameter
from neuralfactors._experiment.procedures import LITERAL, USUAL, procedure_called
from neuralfactors._runs import RunConfig, Splits
from neuralfactors._runs.config import ImageOptions, Parameters
from neuralfactors._runs.documents import decode
from neuralfactors.datasets import ImageFolder
from neuralfactors.vision import FeatureSettings

FOLDER = Path(__file__).parent
PRESETS = ("msrc21", "kitti", "siftflow")


@dataclass(frozen=True)
class FeaturePreset:
    """Features of an image set, and the settings of variants with them, as `RunConfig` takes them."""

    options: Mapping[str, Parameter]
    parameters: Parameters
    limits: Mapping[str, int]
    mirror: bool
    varied: int = 0


@dataclass(frozen=True)
class Preset:
    """What is known of an image set."""

    name: str
    classes: tuple[str, ...]  # those that count
    drop: tuple[str, ...]
    seeds: int  # how many a comparison runs
    final: Splits  # of the comparison
    tuning: Splits  # those for choosing settings; they do without the test images
    features: Mapping[str, FeaturePreset]  # by kind, "bow" or "cnn"
    literal: Parameters  # rates and regularisation of the literal procedure

    @classmethod
    def read(cls, name: str) -> Preset:
        """The preset called `name`."""
        if name not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}")
        body = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        preset: Preset = decode(cls, {"name": name, **body}, name)
        return preset

    def config(
        self, data: str, features: str, rows: Sequence[str], *, tuning: bool = False, procedure: str = USUAL
    ) -> RunConfig:
        """The run of `rows` on the folder `data`, refused where its classes are not those of this set."""
        if features not in self.features:
            known = ", ".join(self.features)
            raise ValueError(f"features of the preset {self.name} must be one of {known}, got {features!r}")
        self.check(data)
        chosen = self.literally(features) if procedure == LITERAL else self.features[features]
        return RunConfig(
            data, tuple(rows), "compare", chosen.options, chosen.parameters,
            splits=self.tuning if tuning else self.final, limits=chosen.limits, mirror=chosen.mirror,
            varied=chosen.varied, images=ImageOptions(drop=self.drop), preset=self.name, procedure=procedure,
        )  # fmt: skip

    def literally(self, features: str) -> FeaturePreset:
        """What the preset has of the literal procedure: the same words and regions, but no more than the paper says."""
        usual, literal = self.features[features], procedure_called(LITERAL)
        if FeatureSettings.of(usual.options).uses_cnn:
            raise ValueError("the literal procedure is for bag-of-words features: use --features bow")
        parameters = {
            name: {**literal.parameters.get(name, {}), **self.literal.get(name, {})}
            for name in {**literal.parameters, **self.literal}
        }
        return FeaturePreset({**usual.options, **literal.features}, parameters, usual.limits, mirror=False)

    def check(self, data: str) -> None:
        """Refuse the folder `data` unless it has the classes of this set."""
        found = [entry.name for entry in ImageFolder(data).classes.kept if entry.name not in self.drop]
        if tuple(found) != self.classes:
            wanted, got = ", ".join(self.classes), ", ".join(found)
            raise ValueError(f"the preset {self.name} is for the classes {wanted}, but {data} has {got}")
