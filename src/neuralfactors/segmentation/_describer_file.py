"""What the file of a describer says beside its tensors: settings, classes and the identity of a backbone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from neuralfactors._common.ceiling import REMEDIES, Stop
from neuralfactors._common.files import FileFormatError
from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._backbones import is_onnx, load_backbone
from neuralfactors.vision._network_identity import is_portrayed
from neuralfactors.vision._settings import Options


def settings_from_json(options: Options, folder: str | os.PathLike[str]) -> FeatureSettings:
    """The settings that a document holds, refused where it has others than this version."""
    try:
        return FeatureSettings.of(options)
    except ValueError as error:
        raise FileFormatError(f"{folder} has settings that this version does not know: {error}") from error


def stop_from_json(
    document: Mapping[str, Any], settings: FeatureSettings, folder: str | os.PathLike[str]
) -> Stop | None:
    """Why regions are not finer, as far as the document says: those of earlier versions do not."""
    stop: Stop | None = document.get("stop", "own" if settings.own_regions else None)
    if stop not in (*REMEDIES, "enough"):
        raise FileFormatError(f"{folder} does not say why regions are not finer, but {stop!r}")
    return stop


def check_backbone(
    document: Mapping[str, Any], settings: FeatureSettings, network: nn.Module | None, folder: Path
) -> None:
    """Refuse another backbone, or none, than that of which the document has the portrait."""
    if "backbone" not in document or not settings.uses_cnn:  # files may be older than portraits
        return
    kept = document["backbone"]
    if network is None and is_onnx(settings.backbone):
        network = load_backbone(settings.backbone)
    if kept is None and network is not None:
        raise ValueError(f"{folder} was trained with the backbone {settings.backbone!r}: leave out the option backbone")
    if kept is not None and network is None:
        name = kept["class"]
        raise ValueError(f"{folder} was trained with a custom backbone, {name}: pass it as backbone")
    if kept is not None and network is not None and not is_portrayed(network, kept):
        raise ValueError(f"{folder} was trained with another backbone, {kept['class']}, than the one given")


def classes_to_json(classes: Classes) -> dict[str, Any]:
    """What JSON can hold of the classes."""
    entries = [{"index": e.index, "name": e.name, "colour": e.colour} for e in classes.entries]
    return {"entries": entries, "void": sorted(classes.void)}


def classes_from_json(document: dict[str, Any]) -> Classes:
    """The classes that `classes_to_json` was given."""
    entries = [
        ClassEntry(e["index"], e["name"], None if e["colour"] is None else tuple(e["colour"]))
        for e in document["entries"]
    ]
    return Classes(tuple(entries), frozenset(document["void"]))
