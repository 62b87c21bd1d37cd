"""How well labels of graphs were predicted, and scikit-learn's scorers by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.extras import needs
from neuralfactors._common.label_values import encode_labels
from neuralfactors._common.labels import VOID
from neuralfactors.metrics._confusion import Scores, as_integers, confusion_matrix, mean_share, shares


def node_accuracy(Y: Sequence[ArrayLike], Y_pred: Sequence[ArrayLike], sample_weight: ArrayLike | None = None) -> float:
    """Share of the labelled nodes that are predicted right.

    Parameters
    ----------
    Y, Y_pred : sequence of arrays of shape (V,)
        True and predicted labels, an array per graph, as `fit` takes them and `predict` returns them.
    sample_weight : array of shape (N,), default=None
        What the nodes of every graph count; None: 1.

    Returns
    -------
    float
        From 0 to 1; NaN where no node is labelled.

    Examples
    --------
    >>> node_accuracy([["a", "b"], ["a", None]], [["a", "a"], ["a", "b"]])
    0.6666666666666666
    """
    return _scores(Y, Y_pred, sample_weight).pixel_accuracy


def macro_f1(Y: Sequence[ArrayLike], Y_pred: Sequence[ArrayLike], sample_weight: ArrayLike | None = None) -> float:
    """Mean of the F1 of all labels that occur, in Y or in the predictions.

    Parameters
    ----------
    Y, Y_pred : sequence of arrays of shape (V,)
        As in `node_accuracy`.
    sample_weight : array of shape (N,), default=None
        As in `node_accuracy`.

    Returns
    -------
    float
        From 0 to 1; NaN where no node is labelled.

    Examples
    --------
    >>> macro_f1([[0, 1], [0, -1]], [[0, 0], [0, 1]])
    0.4
    """
    return mean_share(_scores(Y, Y_pred, sample_weight).f1)


def exact_match(Y: Sequence[ArrayLike], Y_pred: Sequence[ArrayLike], sample_weight: ArrayLike | None = None) -> float:
    """Share of the graphs whose labelled nodes are all predicted right.

    Parameters
    ----------
    Y, Y_pred : sequence of arrays of shape (V,)
        As in `node_accuracy`.
    sample_weight : array of shape (N,), default=None
        What every graph counts; None: 1.

    Returns
    -------
    float
        From 0 to 1; NaN where there is no graph.

    Examples
    --------
    >>> exact_match([[0, 1], [0, -1]], [[0, 0], [0, 1]])
    0.5
    """
    right = np.array([(y_pred == y)[y != VOID].all() for y, y_pred in _pairs(Y, Y_pred)], dtype=np.float64)
    weight = _weights(sample_weight, len(right))
    return float(shares(weight @ right, weight.sum()))


SCORERS = {"node_accuracy": node_accuracy, "macro_f1": macro_f1, "exact_match": exact_match}


def get_scorer(name: str) -> Any:
    """The scorer of that name, for `scoring=` of scikit-learn's searches and cross-validation.

    Parameters
    ----------
    name : "node_accuracy", "macro_f1" or "exact_match"
        The function of this module that compares labels.

    Returns
    -------
    scorer
        As `sklearn.metrics.make_scorer` makes it; it takes a `sample_weight` too, which metadata routing may pass on.

    Examples
    --------
    >>> get_scorer("macro_f1")
    make_scorer(macro_f1, response_method='predict')
    """
    if name not in SCORERS:
        raise ValueError(f"name must be one of {sorted(SCORERS)}, got {name!r}")
    with needs(__name__, "learn"):
        from sklearn.metrics import make_scorer
    return make_scorer(SCORERS[name])


def _pairs(Y: Sequence[ArrayLike], Y_pred: Sequence[ArrayLike]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """True and predicted labels of every graph as numbers, which mean the same in both."""
    if len(Y) != len(Y_pred):
        raise ValueError(f"Y and Y_pred need an array per graph, got {len(Y)} and {len(Y_pred)}")
    numbers, _ = encode_labels([*Y, *Y_pred])
    names = ["Y"] * len(Y) + ["Y_pred"] * len(Y)
    labels = [_integers(y, name) for y, name in zip(numbers, names, strict=True)]
    pairs = list(zip(labels[: len(Y)], labels[len(Y) :], strict=True))
    for n, (y, y_pred) in enumerate(pairs):
        if y.shape != y_pred.shape:
            raise ValueError(f"Y[{n}] and Y_pred[{n}] must have the same shape, got {y.shape} and {y_pred.shape}")
    return pairs


def _integers(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    return as_integers(labels, name) if np.size(labels) else np.zeros(0, np.int64)  # an empty list has no type


def _weights(sample_weight: ArrayLike | None, n_graphs: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n_graphs)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_graphs,) or not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(f"sample_weight needs a finite number ≥ 0 for each of {n_graphs} graphs, got {weight}")
    return weight


def _scores(Y: Sequence[ArrayLike], Y_pred: Sequence[ArrayLike], sample_weight: ArrayLike | None) -> Scores:
    pairs = _pairs(Y, Y_pred)
    n_labels = 1 + max((int(labels.max()) for pair in pairs for labels in pair if labels.size), default=0)
    total = np.zeros((n_labels, n_labels))
    for weight, pair in zip(_weights(sample_weight, len(pairs)), pairs, strict=True):
        total += weight * confusion_matrix(*pair, n_labels)
    return Scores(total)
