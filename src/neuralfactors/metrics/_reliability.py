"""Whether probabilities are what they say: how often labels of some probability are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.label_values import encode_labels
from neuralfactors._common.labels import VOID
from neuralfactors.metrics._confusion import shares

MARGIN = 1e-6  # by which probabilities may leave the range from 0 to 1: they are rounded
UNSEEN = -2  # the number of a label that is none of the classes: no prediction is right


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often the most probable label is right, by how probable it is said to be.

    Parameters
    ----------
    confidence : ndarray of shape (B,)
        Mean probability of the most probable label, in bins of equal width from 0 to 1; NaN in empty bins.
    accuracy : ndarray of shape (B,)
        Share of the nodes of the bin whose label that is; NaN in empty bins.
    share : ndarray of shape (B,)
        Share of all nodes that fall into the bin.

    Examples
    --------
    >>> found = Reliability.of([[0, 1]], [[[0.9, 0.1], [0.7, 0.3]]], n_bins=2)
    >>> found.confidence.tolist(), found.accuracy.tolist()
    ([nan, 0.8], [nan, 0.5])
    """

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    share: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        Y: Sequence[ArrayLike],
        P: Sequence[ArrayLike],
        *,
        classes: ArrayLike | None = None,
        weight: Sequence[ArrayLike] | None = None,
        n_bins: int = 10,
    ) -> Reliability:
        """The reliability of probabilities.

        Parameters
        ----------
        Y : sequence of arrays of shape (V,)
            True labels, an array per graph; void ones do not count.
        P : sequence of arrays of shape (V, L)
            What `predict_proba` returns.
        classes : array of shape (L,), default=None
            `classes_` of the estimator, where labels are no integers.
        weight : sequence of arrays of shape (V,), default=None
            What every node counts, such as its area; None: 1.
        n_bins : int, default=10
            Number of bins, B.

        Returns
        -------
        Reliability
            Of all labelled nodes together.
        """
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1, got {n_bins}")
        numbers, found = encode_labels(list(Y), None if classes is None else np.asarray(classes), unseen=UNSEEN)
        if classes is None and found is not None:  # Y may lack some of the classes that P has
            raise ValueError("classes must be those of the estimator, classes_, where labels are no integers")
        labels, given = [np.asarray(a) for a in numbers], [np.asarray(p) for p in P]
        weights = [np.ones(len(y)) for y in labels] if weight is None else [np.asarray(w, dtype=float) for w in weight]
        _check_nodes(labels, given, weights)
        y, proba, counted = map(np.concatenate, (labels, given, weights))
        counted, sure = np.where(y == VOID, 0.0, counted), proba.max(axis=1, initial=0.0)
        bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
        total = np.bincount(bins, counted, n_bins)
        right = np.bincount(bins, counted * (proba.argmax(axis=1) == y), n_bins)
        confidence = shares(np.bincount(bins, counted * sure, n_bins), total)
        return cls(confidence, shares(right, total), total / max(float(total.sum()), 1e-300))

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance between confidence and accuracy, over the nodes; 0 is perfect, NaN where none is labelled."""
        if not self.share.any():
            return float("nan")
        return float(np.nansum(self.share * np.abs(self.confidence - self.accuracy)))


def _check_nodes(Y: list[NDArray[Any]], P: list[NDArray[Any]], weight: list[NDArray[Any]]) -> None:
    """Refuse labels, probabilities and weights that do not belong together."""
    if not len(Y) == len(P) == len(weight):
        raise ValueError(f"Y, P and weight need an array per graph, got {len(Y)}, {len(P)} and {len(weight)}")
    for n, (y, p, w) in enumerate(zip(Y, P, weight, strict=True)):
        if p.ndim != 2 or y.shape != p.shape[:1] or y.shape != w.shape:
            shapes = f"{y.shape}, {p.shape} and {w.shape}"
            raise ValueError(f"Y[{n}], P[{n}] and the weight of graph {n} need an entry per node, got shapes {shapes}")
        if p.size and not -MARGIN <= p.min() <= p.max() <= 1 + MARGIN:
            raise ValueError(f"P[{n}] must contain probabilities, from 0 to 1, got {p.min():.3g} to {p.max():.3g}")


def expected_calibration_error(
    Y: Sequence[ArrayLike], P: Sequence[ArrayLike], *, classes: ArrayLike | None = None, n_bins: int = 10
) -> float:
    """How far probabilities of the most probable labels are from the shares of them that are right, on average.

    Parameters
    ----------
    Y : sequence of arrays of shape (V,)
        True labels, as in `Reliability.of`.
    P : sequence of arrays of shape (V, L)
        What `predict_proba` returns.
    classes : array of shape (L,), default=None
        `classes_` of the estimator, where labels are no integers.
    n_bins : int, default=10
        Bins of confidence, from 0 to 1, over which is averaged.

    Returns
    -------
    float
        From 0, which is perfect, to 1; NaN where no node is labelled.

    Examples
    --------
    >>> round(expected_calibration_error([[0, 1]], [[[0.8, 0.2], [0.8, 0.2]]]), 3)
    0.3
    """
    return Reliability.of(Y, P, classes=classes, n_bins=n_bins).expected_calibration_error
