"""How a model is trained on images by default, as plain numbers.

Chosen on images held out of the training images of MSRC-21, KITTI and SIFT Flow; `neuralfactors train` uses them too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from neuralfactors._common.parameters import Parameter
from neuralfactors.learning._auto_parameters import auto_batch_size
from neuralfactors.learning._losses import AUTO

# CNN features tell the training images' classes apart without any context, and under the hinge the unary factor would
# learn them by heart: on new images it loses up to two points by it, and interactions learn to trust it. So it stays
# nearly what it has learnt alone, by cross-entropy, and dropout keeps it unsure while the interactions learn to help.
WITH_CNN: dict[str, Parameter] = {
    "C": 3.0, "interaction_C": 30.0, "void": "drop",
    "trainer__pretrain_learning_rate": 0.001,
    "trainer__learning_rate": 0.00001, "trainer__interaction_learning_rate": 0.01,
    "unary__activation": "relu", "unary__dropout": 0.5,
    "interaction__hidden": (64,), "interaction__activation": "relu", "interaction__dropout": 0.3,
}  # fmt: skip
# How much rare classes count by default, where many images show them, and so many images with which one counts half as
# much. What few images show would be learnt by heart, at the price of all others.
BALANCE, SHOWN = 0.5, 5
MAX_BATCH, STEPS = 12, 20  # most images a step, and steps an epoch where there are few
FEW_IMAGES, FIRST_STEPS = 50, 300  # with fewer images, the number of unary steps to begin with
FIRST_STEPS_OF_CNN, JOINT_STEPS_OF_CNN = 600, 320  # with CNN features: unary steps, and steps that follow
EPOCHS, EPOCHS_OF_CNN = 25, 16
# Interactions learn slower, since most pairs of classes have few edges to learn from; few images, slower still.
LEARNING_RATE, INTERACTION_LEARNING_RATE, RATE_OF_FEW = 0.01, 0.003, 0.001
# Label maps are scribbles where fewer of the regions have a labelled pixel; they count as so many images as labels
# would fill. With the usual C, networks learn the few labels by heart.
SPARSE = 0.5
C, C_OF_SPARSE = 100.0, 20.0


def default_batch_size(n_images: int) -> int:
    """Images a step: 12, or fewer where that leaves less than 20 steps an epoch."""
    return min(MAX_BATCH, max(1, round(n_images / STEPS)))


def default_pretrain(n_images: int, batch_size: Parameter, *, few: bool, cnn: bool) -> int:
    """Epochs of the unary factor alone: those of 300 steps where labels are few, of 600 with CNN features."""
    if not few and not cnn:
        return 0
    return _epochs(FIRST_STEPS_OF_CNN if cnn else FIRST_STEPS, n_images, batch_size)


def default_epochs(n_images: int, batch_size: Parameter, *, cnn: bool) -> int:
    """Epochs of both factors: 25, or with CNN features 16 and at least 320 steps."""
    return max(EPOCHS_OF_CNN, _epochs(JOINT_STEPS_OF_CNN, n_images, batch_size)) if cnn else EPOCHS


def _epochs(n_steps: int, n_images: int, batch_size: Parameter) -> int:
    size = auto_batch_size(n_images) if batch_size == AUTO else batch_size
    steps = math.ceil(n_images / size) if isinstance(size, int) and size > 0 else 1
    return math.ceil(n_steps / steps)


def default_parameters(
    n_images: int, given: Mapping[str, Parameter], *, cnn: bool, labelled: float = 1.0
) -> dict[str, Parameter]:
    """Parameters of a `StructuralSVM` that suit so many images, by the names of `set_params`.

    Parameters
    ----------
    n_images : int
        Number of training images.
    given : mapping of str to object
        Parameters that are set already; they stay, and others are chosen to go with them.
    cnn : bool
        Whether the images are described by CNN features.
    labelled : float, default=1.0
        Share of the regions that have a labelled pixel.

    Returns
    -------
    dict
        Those given and those chosen.
    """
    sparse = labelled < SPARSE
    few = (labelled * n_images if sparse else n_images) < FEW_IMAGES
    found: dict[str, Parameter] = {
        "C": C_OF_SPARSE if sparse else C, "batch_size": default_batch_size(n_images), "void": "complete",
        "trainer__keep": "last",
        "trainer__learning_rate": RATE_OF_FEW if few else LEARNING_RATE,
        "trainer__interaction_learning_rate": RATE_OF_FEW if few else INTERACTION_LEARNING_RATE,
        **given,
    }  # fmt: skip
    size = found["batch_size"]
    chosen = {
        "max_iter": default_epochs(n_images, size, cnn=cnn),
        "trainer__pretrain": default_pretrain(n_images, size, few=few, cnn=cnn),
    }
    return {**chosen, **found}
