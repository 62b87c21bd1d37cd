"""What the parts of a model say about an image, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralfactors.datasets import colour_labels

GAP = 4  # white pixels between two pictures


@dataclass(frozen=True, eq=False)
class Explanation:
    """Label maps (H, W) of one image by parts of a model: where they differ, context has decided.

    Parameters
    ----------
    unary : ndarray of shape (H, W)
        Every region by its own look.
    interaction : ndarray of shape (H, W)
        By what neighbours go together, without any look at the regions themselves.
    joint : ndarray of shape (H, W)
        By both: the prediction.
    image : uint8 array of shape (H, W, 3)
        The picture.
    palette : uint8 array of shape (L, 3)
        Colour of each label.
    """

    unary: NDArray[np.int64]
    interaction: NDArray[np.int64]
    joint: NDArray[np.int64]
    image: NDArray[np.uint8]
    palette: NDArray[np.uint8]

    def picture(self) -> NDArray[np.uint8]:
        """Image, unary, interaction and joint map side by side.

        Returns
        -------
        ndarray of shape (H, 4 W + gaps, 3)
            uint8.
        """
        maps = [colour_labels(labels, self.palette) for labels in (self.unary, self.interaction, self.joint)]
        white = np.full((len(self.image), GAP, 3), 255, dtype=np.uint8)
        return np.concatenate([self.image, *(part for m in maps for part in (white, m))], axis=1)
