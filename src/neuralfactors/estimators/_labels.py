"""Labels as users see them: predictions as a list with an array per graph, of the labels that `fit` was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from neuralfactors._common.label_values import Classes, decode_labels, encode_labels
from neuralfactors._common.labels import VOID
from neuralfactors._core.graph import Graph
from neuralfactors._core.graph_checks import check_labels
from neuralfactors._core.node_types import NodeTypes
from neuralfactors.estimators._parts import Composed
from neuralfactors.learning._training_graphs import check_pairs, check_sample_weight, check_void_mark


class Predictions(list[NDArray[Any]]):
    """A list of arrays, one per graph; those of several folds are joined graph by graph.

    `cross_val_predict` joins folds by `np.concatenate`, for which graphs of different sizes make no array. Of lists
    like this one it makes an array (N,) of arrays. All else that numpy does sees a plain list.
    """

    def __array_function__(self, function: Callable[..., Any], _: Any, arguments: Any, options: Any) -> Any:
        if function is np.concatenate and all(isinstance(part, Predictions) for part in arguments[0]):
            return as_objects([entry for part in arguments[0] for entry in part])
        plain = [list(value) if isinstance(value, Predictions) else value for value in arguments]
        return function(*plain, **options)


def as_objects(entries: list[NDArray[Any]]) -> NDArray[Any]:
    """An array (N,) whose entries are arrays, whatever their shapes."""
    found = np.empty(len(entries), dtype=object)
    found[:] = entries
    return found


def share(right: float, total: float) -> float:
    """`right` of `total`; NaN where that is nothing."""
    return right / total if total else float("nan")


class LabelledPredictor(Composed):
    """What predicts labels as it was fitted with them: the numbers 0 to L − 1, or what these stand for."""

    n_labels_: int
    label_values_: Classes | None = None  # (L,); None where labels are integers

    @property
    def classes_(self) -> Classes:
        """The labels, sorted: entry k is what column k of `predict_proba` is about."""
        check_is_fitted(self)
        return np.arange(self.n_labels_) if self.label_values_ is None else self.label_values_

    def score(self, X: Sequence[Graph], Y: Sequence[ArrayLike], sample_weight: ArrayLike | None = None) -> float:
        """Share of the labelled nodes that are predicted right, by their weight where graphs have a `node_weight` (V,).

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.
        Y : sequence of arrays of shape (V,)
            True labels of every graph; void ones are not counted.
        sample_weight : array of shape (N,), default=None
            What the nodes of every graph count, times their own weight; None: 1.

        Returns
        -------
        float
            From 0 to 1; NaN where no node is labelled.
        """
        check_is_fitted(self)
        X, Y = check_pairs(X, Y)
        numbers = self._encode([Y[n] for n in range(len(Y))], unseen=self.n_labels_)
        return share(*self._count_right(X, numbers, check_sample_weight(sample_weight, len(X))))

    def _count_right(
        self, X: Sequence[Graph], Y: Sequence[ArrayLike], weight: NDArray[np.float64] | None = None
    ) -> tuple[float, float]:
        """What the nodes that are predicted right weigh, and what all labelled ones weigh."""
        labels, right, total = [], 0.0, 0.0
        for n, y_pred in enumerate(self._predict(X)):
            y, own = check_labels(Y[n], X[n].n_nodes, f"Y[{n}]"), X[n].node_weight
            if own is None or own.ndim == 2:  # costs of labels are no weights of nodes
                own = np.ones(len(y))
            counted = (y >= 0) * own * (1.0 if weight is None else weight[n])
            right += float((counted * (y_pred == y)).sum())
            total += float(counted.sum())
            labels.append(y)
        check_void_mark(labels, self.n_labels_)
        return right, total

    def _predict(self, X: Sequence[Graph], known: Sequence[NDArray[np.int64]] | None = None) -> list[NDArray[np.int64]]:
        """The same as `predict`, in numbers of labels."""
        raise NotImplementedError

    def _types(self) -> NodeTypes | None:
        """The types of nodes that were seen in training, with their numbers of labels."""
        raise NotImplementedError

    def _encode(self, Y: Sequence[Any], name: str = "Y", unseen: int | None = None) -> Sequence[Any]:
        return encode_labels(Y, self.label_values_, fitted=True, name=name, unseen=unseen)[0]

    def _decode(self, labels: Sequence[NDArray[np.int64]]) -> Predictions:
        return Predictions(decode_labels(y, self.label_values_) for y in labels)

    def _check_known(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None) -> list[NDArray[np.int64]] | None:
        """Known labels of the graphs X as numbers, refused unless they fit the graphs and are known to the model."""
        if known is None:
            return None
        X, known = check_pairs(X, known)
        numbers = self._encode([known[n] for n in range(len(known))], "known")
        given, types = [], self._types()
        for n in range(len(X)):
            given.append(check_labels(numbers[n], X[n].n_nodes, f"known[{n}]"))
            kinds = X[n].node_types
            if types is not None and kinds is not None:
                types.check_labels(given[n], kinds, f"known[{n}]")
        highest = max((int(y.max()) for y in given if y.size), default=VOID)
        if highest >= self.n_labels_:
            raise ValueError(f"known must hold labels below {self.n_labels_}, got {highest}")
        return given
