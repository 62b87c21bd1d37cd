"""MultiLabelClassifier: which of K labels a point has, decided together, on plain arrays as scikit-learn has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
import scipy  # which loads its parts when they are used
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted
from torch import Tensor, nn

from neuralfactors._common.labels import refuse_masked
from neuralfactors._common.persistence import State
from neuralfactors._common.seeds import seed_of
from neuralfactors._core.factors import Factor
from neuralfactors._core.graph import Graph
from neuralfactors.estimators._base import StructuredEstimator
from neuralfactors.estimators._gradient_learner import JointEstimator
from neuralfactors.estimators._parts import Composed, Parts, or_default
from neuralfactors.estimators._saving import Saved, Stored
from neuralfactors.estimators._structural import StructuralSVM
from neuralfactors.learning._losses import check_option


@dataclass(eq=False, repr=False)
class MultiLabelClassifier(Saved, ClassifierMixin, Composed):
    """Labels that may occur together, each with a score of its own and, for some pairs, a table of how they go along.

    A point is a graph with a node for every label, which is 0 or 1.

    Parameters
    ----------
    edges : "chow_liu", "full" or array of shape (E, 2), default="chow_liu"
        Which pairs of labels have a table. "chow_liu": the tree of largest mutual information in Y, on which inference
        is exact and fast; "full": all pairs; `[]`: none, every label by itself.
    hidden : sequence of int, default=(256,)
        Units of the hidden layers, which all labels share; `()`: every label has a linear score.
    base : StructuralSVM, StructuredPerceptron or None, default=None
        What trains, with all its options, such as `base__C`; its `unary`, `interaction` and `void` are put in place by
        this class: labels that are not known are completed. None: `StructuralSVM()`.

    Attributes
    ----------
    base_ : estimator
        The fitted copy of `base`.
    edges_ : array of shape (E, 2)
    n_features_in_, n_outputs_ : int

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
    >>> classifier = MultiLabelClassifier(edges=[[0, 1]], hidden=()).fit(X, X.astype(int))
    >>> classifier.predict([[1.0, 0.0]])
    array([[1, 0]])
    """

    edges: str | ArrayLike = "chow_liu"
    _: KW_ONLY
    hidden: Sequence[int] = (256,)
    base: StructuredEstimator | None = None

    _parts: ClassVar[Parts] = {"base": or_default(StructuralSVM)}

    def fit(self, X: ArrayLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points and the labels that they have.

        Parameters
        ----------
        X : array of shape (N, D)
            Features.
        Y : array of shape (N, K)
            1 where a point has a label, 0 where it does not, −1 where that is not known.
        sample_weight : array of shape (N,), default=None
            By which the loss of every point is multiplied; None: 1.

        Returns
        -------
        MultiLabelClassifier
            The classifier itself.
        """
        points, base = _check_points(X), self.part("base")
        if not isinstance(base, JointEstimator):
            raise ValueError(f"base must be None, a StructuralSVM or a StructuredPerceptron, got {base!r}")
        labels = check_indicators("Y", Y, len(points))
        self.n_features_in_, self.n_outputs_ = points.shape[1], labels.shape[1]
        self.classes_ = [np.arange(2)] * self.n_outputs_
        self.edges_ = _label_pairs(self.edges, labels)
        unary, interaction = self._factors(seed_of(base.random_state))
        # All labels of a point stay in its graph: the factors rely on that.
        factors = {"unary": unary, "interaction": interaction, "n_labels": 2, "void": "complete"}
        self.base_ = clone(base).set_params(**factors)
        self.base_.fit(self._graphs(points), list(labels), sample_weight)
        return self

    def predict(self, X: ArrayLike, known: ArrayLike | None = None) -> NDArray[np.int64]:
        """Which labels points have.

        Parameters
        ----------
        X : array of shape (N, D)
            Features.
        known : array of shape (N, K), default=None
            What is known already, −1 elsewhere: it is kept, and the rest is what goes best with it.

        Returns
        -------
        ndarray of shape (N, K)
            0 and 1, int64.
        """
        graphs = self._checked(X)
        found = self.base_.predict(graphs, **self._fixed(known, len(graphs)))
        return np.concatenate(found).reshape(-1, self.n_outputs_)

    def predict_proba(self, X: ArrayLike, known: ArrayLike | None = None) -> NDArray[np.floating[Any]]:
        """Probability that points have labels; how it is found is said in `StructuralSVM.predict_proba`.

        Parameters
        ----------
        X : array of shape (N, D)
            Features.
        known : array of shape (N, K), default=None
            As in `predict`.

        Returns
        -------
        ndarray of shape (N, K)
            From 0 to 1, exact with the edges of a tree.
        """
        graphs = self._checked(X)
        found = self.base_.predict_proba(graphs, **self._fixed(known, len(graphs)))
        return np.concatenate(found)[:, 1].reshape(-1, self.n_outputs_)

    def _state(self) -> State:
        check_is_fitted(self, "base_")
        document, tensors = self.base_.state()
        sizes = {"n_features_in": self.n_features_in_, "n_outputs": self.n_outputs_, "hidden": list(self.hidden)}
        body = {"class": type(self).__name__, "edges": self.edges_.tolist(), **sizes, "base": document}
        return State(body, tensors)

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        """The classifier that was saved, with its fitted base."""
        document, tensors, path, parameters = stored
        pairs = np.array(document["edges"], dtype=np.int64).reshape(-1, 2)
        loaded = cls(pairs, hidden=tuple(document["hidden"]))  # its edges are those that were used
        loaded.n_features_in_, loaded.n_outputs_ = document["n_features_in"], document["n_outputs"]
        loaded.classes_, loaded.edges_ = [np.arange(2)] * loaded.n_outputs_, pairs
        given = dict(parameters, **dict(zip(("unary", "interaction"), loaded._factors(0), strict=True)))
        loaded.base_ = StructuredEstimator.from_state(document["base"], tensors, path, **given)
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def _factors(self, seed: int) -> tuple[nn.Module, nn.Module]:
        generator = torch.Generator().manual_seed(seed)
        scores = Factor(self.n_features_in_, 2 * self.n_outputs_, hidden=self.hidden, generator=generator)
        return _ScoresOfLabels(scores, self.n_outputs_), _TablesOfPairs(len(self.edges_))

    def _fixed(self, known: ArrayLike | None, n_points: int) -> dict[str, list[NDArray[np.int64]]]:
        return {} if known is None else {"known": list(check_indicators("known", known, n_points, self.n_outputs_))}

    def _checked(self, X: ArrayLike) -> list[Graph]:
        check_is_fitted(self, "base_")
        points = _check_points(X)
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {points.shape[1]} features, but {type(self).__name__} was fitted with {self.n_features_in_}"
            )
        return self._graphs(points)

    def _graphs(self, X: NDArray[np.float32]) -> list[Graph]:
        # All nodes of a graph are views of one row.
        shape, none = (self.n_outputs_, X.shape[1]), np.zeros((len(self.edges_), 0), np.float32)
        return [Graph.unchecked(np.broadcast_to(x, shape), self.edges_, none, None) for x in X]


class _ScoresOfLabels(nn.Module):
    """Scores (B·K, 2) of B points, each of which comes as K equal rows."""

    def __init__(self, scores: Factor, n_outputs: int) -> None:
        super().__init__()
        self.scores = scores
        self.n_outputs = n_outputs

    def forward(self, features: Tensor) -> Tensor:
        once = features.view(-1, self.n_outputs, features.shape[1])[:, 0]
        return self.scores(once).view(-1, 2)  # type: ignore[no-any-return]


class _TablesOfPairs(nn.Module):
    """Tables (B·E, 4) of B points: one for each of the E pairs, the same for all points."""

    def __init__(self, n_pairs: int) -> None:
        super().__init__()
        self.tables = nn.Parameter(torch.zeros(n_pairs, 4))

    def forward(self, features: Tensor) -> Tensor:
        return self.tables.repeat(len(features) // len(self.tables), 1)


def chow_liu_tree(Y: ArrayLike) -> NDArray[np.int64]:
    """The tree over labels whose edges have the largest sum of mutual information.

    Parameters
    ----------
    Y : array of shape (N, K)
        Labels of the points; −1 is unknown, and a pair is counted where both are known.

    Returns
    -------
    ndarray of shape (K − 1, 2)
        Pairs of labels.

    Examples
    --------
    >>> chow_liu_tree([[0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]]).tolist()
    [[0, 1], [0, 2]]
    """
    information = _mutual_information(check_indicators("Y", Y, len(np.asarray(Y))))
    # The largest tree is the smallest of what is left to more than the maximum; a weight of 0 would be no edge.
    costs = np.triu(information.max() + 1.0 - information, k=1)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(costs).tocoo()
    return np.stack([tree.row, tree.col], axis=1).astype(np.int64)


def check_indicators(name: str, Y: ArrayLike, n_points: int, n_outputs: int | None = None) -> NDArray[np.int64]:
    """`Y` as int64 (N, K), refused unless it holds 0, 1 or −1 for every point and label."""
    refuse_masked(Y, name)
    labels = np.asarray(Y)
    expected = f"({n_points}, {n_outputs or 'K'})"
    if labels.ndim != 2 or len(labels) != n_points or n_outputs not in (None, labels.shape[1]):
        raise ValueError(f"{name} must have shape {expected}, got {labels.shape}")
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError(f"{name} must hold 0, 1, or -1 where a label is not known, got {np.unique(labels)[:5]}")
    return labels.astype(np.int64)


def _check_points(X: ArrayLike) -> NDArray[np.float32]:
    return np.asarray(check_array(X, dtype=np.float32, input_name="X"))


def _mutual_information(Y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mutual information (K, K) of all pairs of labels, over the samples that know both."""
    known = (Y >= 0).astype(np.float64)
    values = [np.equal(Y, value).astype(np.float64) for value in (0, 1)]
    counts = np.maximum(known.T @ known, 1.0)
    information = np.zeros(counts.shape)
    for first, second in product(values, repeat=2):
        joint = first.T @ second / counts
        apart = (first.T @ known) * (known.T @ second) / counts**2
        information += joint * np.log(np.where(joint > 0, joint, 1.0) / np.where(joint > 0, apart, 1.0))
    return information


def _label_pairs(edges: str | ArrayLike, Y: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pairs of labels (E, 2) that interact; refused unless they are a known word or valid pairs."""
    n_outputs = Y.shape[1]
    if isinstance(edges, str):
        check_option("edges", edges, ("chow_liu", "full"))
        return chow_liu_tree(Y) if edges == "chow_liu" else np.stack(np.triu_indices(n_outputs, 1), axis=1)
    pairs = np.asarray(edges)
    pairs = pairs.reshape(0, 2) if pairs.size == 0 else pairs
    good = pairs.ndim == 2 and pairs.shape[1] == 2 and (pairs.size == 0 or pairs.dtype.kind in "iu")
    if not good or (pairs.size and not (0 <= pairs.min() <= pairs.max() < n_outputs)):
        raise ValueError(
            f"edges must be 'chow_liu', 'full' or pairs (E, 2) of labels from 0 to {n_outputs - 1}, got {edges!r}"
        )
    return pairs.astype(np.int64)
