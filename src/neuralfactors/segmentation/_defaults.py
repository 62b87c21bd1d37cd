"""How a model is trained on images by default, as plain numbers.

Chosen on images held out of the training images of MSRC-21 and KITTI; `neuralfactors train` uses them too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from neuralfactors.learning._auto_parameters import auto_batch_size
from neuralfactors.learning._losses import AUTO
from neuralfactors.vision import FeatureSettings

# CNN features tell the training images' classes apart without any context. Dropout makes the unary factor as unsure of
# them as it will be of new images, so that interactions learn to help where help is needed: without it they do not.
WITH_CNN: dict[str, Any] = {
    "C": 3.0, "max_iter": 16, "void": "drop",
    "trainer__learning_rate": 0.001, "trainer__interaction_learning_rate": 0.001,
    "unary__activation": "relu", "unary__dropout": 0.5,
    "interaction__hidden": (64,), "interaction__activation": "relu", "interaction__dropout": 0.5,
}  # fmt: skip
BALANCE = 0.5
MAX_BATCH, STEPS = 12, 20  # so many images a step at most, and where there are few, so many steps an epoch
FEW_IMAGES, FIRST_STEPS = 50, 300  # with fewer images, or CNN features, so many first steps are unary
# Interactions learn slower, since most pairs of classes have few edges to learn from; few images, slower still.
LEARNING_RATE, INTERACTION_LEARNING_RATE, RATE_OF_FEW = 0.01, 0.003, 0.001


def default_balance(settings: FeatureSettings) -> float:
    """How much rare classes count by default: words leave nothing to spare for them, but a network does.

    Where regions are finer than usual, it is for the sake of classes that are thin, hence rare: they count more, too.
    """
    return BALANCE if settings.uses_cnn or settings.n_regions > settings.usual_regions else 0.0


def default_batch_size(n_images: int) -> int:
    """Images a step: 12, or fewer where that leaves less than 20 steps an epoch."""
    return min(MAX_BATCH, max(1, round(n_images / STEPS)))


def default_pretrain(n_images: int, batch_size: int | str | None, *, cnn: bool) -> int:
    """Epochs of the unary factor alone: as many as make 300 steps, where there are few images or CNN features."""
    if n_images >= FEW_IMAGES and not cnn:
        return 0
    size = auto_batch_size(n_images) if batch_size == AUTO else batch_size
    steps = math.ceil(n_images / size) if isinstance(size, int) and size > 0 else 1
    return math.ceil(FIRST_STEPS / steps)


def default_parameters(n_images: int, given: Mapping[str, Any], *, cnn: bool) -> dict[str, Any]:
    """Parameters of a `StructuralSVM` that suit so many images, by the names of `set_params`.

    Parameters
    ----------
    n_images : int
        Number of training images.
    given : mapping of str to object
        Parameters that are set already; they stay, and others are chosen to go with them.
    cnn : bool
        Whether the images are described by CNN features.

    Returns
    -------
    dict
        Those given and those chosen.
    """
    few = n_images < FEW_IMAGES
    found: dict[str, Any] = {
        "C": 100.0, "max_iter": 25, "batch_size": default_batch_size(n_images), "void": "complete",
        "trainer__keep": "last",
        "trainer__learning_rate": RATE_OF_FEW if few else LEARNING_RATE,
        "trainer__interaction_learning_rate": RATE_OF_FEW if few else INTERACTION_LEARNING_RATE,
        **given,
    }  # fmt: skip
    return {"trainer__pretrain": default_pretrain(n_images, found["batch_size"], cnn=cnn), **found}
