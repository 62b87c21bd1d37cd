"""Confusion matrices, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.labels import VOID, refuse_masked


def confusion_matrix(
    y: ArrayLike, y_pred: ArrayLike, n_labels: int, weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Counts (L, L): how often the true label of the row was predicted as the label of the column.

    Parameters
    ----------
    y, y_pred : arrays of int, of one shape
        True and predicted labels, of pixels or nodes. Where `y` is −1, void, nothing is counted.
    n_labels : int
        Number of labels, L.
    weight : array of that shape, default=None
        What each one counts, for instance the area of a region; None: 1.

    Returns
    -------
    ndarray of shape (L, L)
        float64.

    Examples
    --------
    >>> confusion_matrix([0, 0, 1, -1], [0, 1, 1, 0], n_labels=2)
    array([[1., 1.],
           [0., 1.]])
    """
    y, y_pred = as_integers(y, "y"), as_integers(y_pred, "y_pred")
    if y.shape != y_pred.shape:
        raise ValueError(f"y and y_pred must have the same shape, got {y.shape} and {y_pred.shape}")
    counted = y != VOID
    truth, predicted = y[counted], y_pred[counted]
    for name, labels in (("y", truth), ("y_pred", predicted)):
        if labels.size and not (labels.min() >= 0 and labels.max() < n_labels):
            wrong = labels.min() if labels.min() < 0 else labels.max()
            raise ValueError(f"{name} must contain labels from 0 to {n_labels - 1}, got {wrong}")
    weights = None
    if weight is not None:
        weights = np.asarray(weight, dtype=np.float64)
        if weights.shape != y.shape:
            raise ValueError(f"weight must have the shape of y, {y.shape}, got {weights.shape}")
        weights = weights[counted]
    counts = np.bincount(truth * n_labels + predicted, weights=weights, minlength=n_labels * n_labels)
    return counts.reshape(n_labels, n_labels).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Scores:
    """Figures that follow from a confusion matrix; shares, from 0 to 1.

    A label that does not occur has NaN for its own figures and is left out of the means.

    Parameters
    ----------
    confusion : ndarray of shape (L, L)
        Rows are true labels; see `confusion_matrix`.

    Examples
    --------
    >>> scores = Scores(confusion_matrix([0, 0, 0, 1], [0, 0, 1, 1], n_labels=2))
    >>> scores.pixel_accuracy, scores.class_accuracy.round(3).tolist()
    (0.75, [0.667, 1.0])
    """

    confusion: NDArray[np.float64]  # (L, L), rows are true labels

    @classmethod
    def of(cls, pairs: Iterable[tuple[ArrayLike, ArrayLike]], n_labels: int) -> Scores:
        """The scores of many predictions together, read one by one.

        Parameters
        ----------
        pairs : iterable of (y, y_pred)
            True and predicted labels of an image or graph each.
        n_labels : int
            Number of labels, L.

        Returns
        -------
        Scores
            Of all that is counted in any of them.
        """
        total = np.zeros((n_labels, n_labels))
        for y, y_pred in pairs:
            total += confusion_matrix(y, y_pred, n_labels)
        return cls(total)

    @property
    def pixel_accuracy(self) -> float:
        """Share of all pixels (or whatever was counted) that are right; NaN where nothing was counted."""
        return float(shares(np.trace(self.confusion), self.confusion.sum()))

    @property
    def class_accuracy(self) -> NDArray[np.float64]:
        """Share (L,) of each label's pixels that are right."""
        return shares(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def class_mean_accuracy(self) -> float:
        """Mean of `class_accuracy` over the labels that occur."""
        return mean_share(self.class_accuracy)

    @property
    def iou(self) -> NDArray[np.float64]:
        """Intersection over union (L,) of each label; NaN where it neither occurs nor was predicted."""
        right = np.diag(self.confusion)
        return shares(right, self.confusion.sum(axis=1) + self.confusion.sum(axis=0) - right)

    @property
    def mean_iou(self) -> float:
        """Mean of `iou` over the labels that occur."""
        return mean_share(self.iou[self.confusion.sum(axis=1) > 0])

    @property
    def f1(self) -> NDArray[np.float64]:
        """F1 (L,) of each label, the harmonic mean of precision and recall; NaN where it does not occur at all."""
        return shares(2 * np.diag(self.confusion), self.confusion.sum(axis=1) + self.confusion.sum(axis=0))


def as_integers(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """`labels` as int64, refused unless they are integers, or bool."""
    refuse_masked(labels, name)
    array = np.asarray(labels)
    if array.dtype.kind not in "biu":
        raise ValueError(f"{name} must contain integers, got dtype {array.dtype}")
    return array.astype(np.int64, copy=False)


def shares(part: Any, whole: Any) -> NDArray[np.float64]:
    """`part` / `whole`, NaN where the whole is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    found: NDArray[np.float64] = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
    return found


def mean_share(values: NDArray[np.float64]) -> float:
    """The mean of what is not NaN; NaN where nothing is left."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if present.size else float("nan")
