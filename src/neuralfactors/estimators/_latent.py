"""LatentSVM: labels with hidden states, and nodes whose label is never seen, around any structural SVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from neuralfactors._common.persistence import State
from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors._core.graph import Graph
from neuralfactors._core.potentials import Potentials
from neuralfactors.estimators._base import StructuredEstimator
from neuralfactors.estimators._labels import LabelledPredictor, Predictions
from neuralfactors.estimators._linear_svms import FrankWolfeSVM
from neuralfactors.estimators._parts import Parts, or_default
from neuralfactors.estimators._prediction import Predictor
from neuralfactors.estimators._saving import Saved, Stored, from_document, to_document, to_json
from neuralfactors.estimators._start_states import start_states
from neuralfactors.estimators._structural import StructuralSVM
from neuralfactors.learning._losses import check_count, check_option
from neuralfactors.learning._training_graphs import Samples

ROUNDS = {"alternate": 5, "subgradient": 100}
Labels = NDArray[np.int64]


@dataclass(eq=False, repr=False)
class LatentSVM(Saved, LabelledPredictor):
    """Structural SVM in which every label has hidden states, and nodes labelled −1 are hidden altogether.

    Learning begins with states by k-means, of what lies in and around a node, as equal states would stay equal for
    ever. It then alternates: `base` learns from the states, and the states become those that fit it best among those of
    the given labels.

    Parameters
    ----------
    n_states : int or sequence of int, default=2
        States of every label, or one number for each label. 1: no hidden states; nodes labelled −1 remain hidden.
    base : StructuralSVM, FrankWolfeSVM, CuttingPlaneSVM or None, default=None
        What learns, with all its options, such as `base__C`. None: `FrankWolfeSVM()`, or `StructuralSVM((), ())` where
        `learner` is "subgradient".
    learner : "alternate" or "subgradient", default="alternate"
        "alternate" fits `base` anew between two completions; "subgradient" does one epoch of it.
    max_iter : int or None, default=None
        Completions at most; learning ends when none changes. None: 5, or 100 for "subgradient".
    random_state : int, Generator, RandomState or None, default=0
        Of k-means.
    warm_start : bool, default=False
        Whether `fit` begins with the states that fit the last `base_` best, not with those of k-means. What is left of
        `base_` itself, between completions as well, is up to `base__warm_start`.

    Attributes
    ----------
    base_ : estimator
        The fitted copy of `base`, whose labels are the states.
    state_label_ : array of shape (S,)
        The label of every state.
    n_iter_ : int
        Completions that took place.

    Examples
    --------
    >>> from neuralfactors._core.lattice import point_graphs
    >>> X = np.array([[-2.0], [0.0], [2.0]] * 10)  # the label in the middle, which no linear score can tell
    >>> Y = (X == 0).astype(int)
    >>> LatentSVM([2, 1]).fit(point_graphs(X), Y).score(point_graphs(X), Y)
    1.0
    """

    n_states: int | Sequence[int] = 2
    _: KW_ONLY
    base: Predictor | None = None
    learner: str = "alternate"
    max_iter: int | None = None
    random_state: RandomState = 0
    warm_start: bool = False

    _parts: ClassVar[Parts] = {"base": or_default(FrankWolfeSVM)}

    def _make_part(self, name: str, given: Any) -> Any:
        if given is None and self.learner == "subgradient":
            return StructuralSVM((), ())
        return super()._make_part(name, given)

    def fit(self, X: Sequence[Graph], Y: Sequence[ArrayLike], sample_weight: ArrayLike | None = None) -> Self:
        """Learn from graphs and label vectors.

        Parameters
        ----------
        X : sequence of Graph
            The graphs.
        Y : sequence of arrays
            Labels, one array per graph, as in `StructuralSVM`; void at hidden nodes.
        sample_weight : array of shape (N,), default=None
            By which the hinge of every graph is multiplied; None: 1.

        Returns
        -------
        LatentSVM
            The estimator itself.
        """
        check_option("learner", self.learner, tuple(ROUNDS))
        rounds = ROUNDS[self.learner] if self.max_iter is None else self.max_iter
        check_count("max_iter", rounds)
        if self.learner == "subgradient" and not hasattr(self.part("base"), "partial_fit"):
            name = type(self.part("base")).__name__
            raise ValueError(f'learner="subgradient" needs a base with partial_fit, such as StructuralSVM, got {name}')
        continuing = self.warm_start and hasattr(self, "base_")
        last, classes = (self.n_labels_, self.label_values_) if continuing else (0, None)
        samples = Samples.check(
            X, Y, last or None, known=last, drop_void=False, classes=classes, sample_weight=sample_weight
        )
        if samples.types is not None:
            raise ValueError(f"{type(self).__name__} does not accept graphs with node_types")
        state_label = _state_labels(self.n_states, samples.n_labels)
        if continuing:
            self._check_states(state_label)
        self.n_labels_, self.label_values_ = samples.n_labels, samples.classes
        self.state_label_: Labels = state_label
        seen = [_with_costs_of_states(samples.X[n], y, state_label) for n, y in enumerate(samples.Y)]
        self._alternate(seen, samples, self._first_states(seen, samples, continuing), rounds)
        return self

    def _check_states(self, state_label: Labels) -> None:
        if not np.array_equal(state_label, self.state_label_):
            raise ValueError(
                f"the model to continue has states of the labels {self.state_label_.tolist()}, but "
                f"{state_label.tolist()} are needed: fit a clone, or set warm_start=False"
            )

    def _first_states(self, X: list[Graph], samples: Samples, continuing: bool) -> list[Labels]:
        """The states to begin with; `base_` is ready to learn from them."""
        base = clone(self.part("base"))
        options = {**base.get_params(deep=False), "n_labels": len(self.state_label_), **self._costs(samples)}
        if continuing:
            self.base_.set_params(**options)
            return self._states(X, list(samples.Y))
        self.base_: Any = base.set_params(**options)
        return start_states(samples, self.state_label_, seed_of(self.random_state))

    def _alternate(self, X: list[Graph], samples: Samples, states: list[Labels], rounds: int) -> None:
        for self.n_iter_ in range(1, rounds + 1):
            self._improve(X, states, samples.weight)
            completed = self._states(X, list(samples.Y))
            changed = any((a != b).any() for a, b in zip(states, completed, strict=True))
            states = completed
            if not changed and self.learner == "alternate":
                break

    @property
    def n_features_in_(self) -> int:
        """Number of node features in `fit`."""
        check_is_fitted(self, "base_")
        return int(self.base_.n_features_in_)

    def predict(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None) -> list[NDArray[Any]]:
        """Labels of the nodes, those of hidden ones included.

        Parameters
        ----------
        X : sequence of Graph
            The graphs.
        known : sequence of arrays, default=None
            Labels that are given, one array per graph, void where there is none; they are kept.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, one array per graph.
        """
        check_is_fitted(self, "base_")
        return self._decode(self._predict(X, self._check_known(X, known)))

    def predict_proba(
        self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None
    ) -> list[NDArray[np.floating[Any]]]:
        """Probabilities of the labels of every node: those of their states, added up.

        Parameters
        ----------
        X : sequence of Graph
            The graphs.
        known : sequence of arrays, default=None
            As in `predict`.

        Returns
        -------
        list of ndarray of shape (V, L)
            Rows sum to 1; how they are found is said in `StructuralSVM.predict_proba`.
        """
        check_is_fitted(self, "base_")
        of_label = np.eye(self.n_labels_)[self.state_label_]
        states = self.base_._proba(X, self._check_known(X, known), self._restrict)
        return Predictions(found @ of_label.astype(found.dtype) for found in states)

    def predict_states(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None) -> list[Labels]:
        """States of the nodes, which `state_label_` turns into labels.

        Parameters
        ----------
        X : sequence of Graph
            The graphs.
        known : sequence of arrays of int, default=None
            Labels, as in `predict`; the states are those of them.

        Returns
        -------
        list of ndarray of shape (V,)
            Numbers of states, one array per graph.
        """
        check_is_fitted(self, "base_")
        return self._states(X, self._check_known(X, known))

    def _state(self) -> State:
        check_is_fitted(self, "base_")
        document, tensors = self.base_.state()
        own = {name: value for name, value in self.get_params(deep=False).items() if name != "base"}
        body = {"class": type(self).__name__, **_described(own), "state_label": self.state_label_.tolist()}
        body |= {"n_iter": self.n_iter_, "label_values": to_json(self.label_values_)}
        body |= {"unfitted": _described(self.part("base").plain_params()), "base": document}
        return State(body, tensors)

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        loaded, (document, tensors, path, parameters) = cls(), stored
        from_document(loaded, document, path, {})
        loaded.base_ = StructuredEstimator.from_state(document["base"], tensors, path, **parameters)
        loaded.base = type(loaded.base_)()
        from_document(loaded.base, document["unfitted"], path, parameters)
        loaded.state_label_, loaded.n_iter_ = np.array(document["state_label"], np.int64), document["n_iter"]
        loaded.n_labels_ = int(loaded.state_label_.max()) + 1
        values = document["label_values"]
        loaded.label_values_ = None if values is None else np.array(values)
        return loaded

    def _improve(self, X: list[Graph], states: list[Labels], sample_weight: ArrayLike | None) -> None:
        if self.learner == "subgradient":
            self.base_.partial_fit(X, states, len(self.state_label_), sample_weight)
        else:
            self.base_.fit(X, states, sample_weight)

    def _states(self, X: Sequence[Graph], Y: Sequence[Labels] | None) -> list[Labels]:
        states: list[Labels] = self.base_._decode_altered(X, Y, self._restrict)
        return states

    def _predict(self, X: Sequence[Graph], known: Sequence[Labels] | None = None) -> list[Labels]:
        return [self.state_label_[states] for states in self._states(X, known)]

    def _restrict(self, given: Potentials, y: Tensor, _: Tensor | None) -> Potentials:
        """The potentials in which every labelled node has a state of its label."""
        labels = torch.from_numpy(self.state_label_)
        allowed = (labels.to(y.device) == y[:, None]) | (y < 0)[:, None]
        return given.with_unary(given.unary.masked_fill(~allowed, -torch.inf))

    def _costs(self, samples: Samples) -> dict[str, Any]:
        """The base's own weight of classes, for states: those of one label are equally right."""
        known = self.part("base").get_params(deep=False)
        if "class_weight" not in known or len(self.state_label_) == samples.n_labels:
            return {}
        weight = samples.class_weight(known["class_weight"])
        weight = np.ones(samples.n_labels) if weight is None else weight
        square = weight if weight.ndim == 2 else weight[:, None] * (1 - np.eye(samples.n_labels))
        return {"class_weight": square[np.ix_(self.state_label_, self.state_label_)]}


def _described(parameters: Mapping[str, Any]) -> dict[str, Any]:
    known, omitted = to_document(parameters)
    return {"parameters": known, "omitted": omitted}


def _state_labels(n_states: int | Sequence[int], n_labels: int) -> Labels:
    counts = np.full(n_labels, n_states) if isinstance(n_states, (int, np.integer)) else np.asarray(n_states)
    if counts.shape != (n_labels,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise ValueError(f"n_states must be a number ≥ 1 or {n_labels} of them, one per label, got {n_states!r}")
    return np.repeat(np.arange(n_labels), counts)


def _with_costs_of_states(graph: Graph, y: Labels, state_label: Labels) -> Graph:
    """The graph with costs by state where it has costs by label, and none at all where nodes are hidden."""
    weight = np.ones(len(y)) if graph.node_weight is None else graph.node_weight
    if (y >= 0).all() and weight.ndim == 1:
        return graph
    weight = weight if weight.ndim == 1 else weight[:, state_label]
    seen = (y >= 0).reshape(-1, *[1] * (weight.ndim - 1))
    return Graph.unchecked(graph.node_features, graph.edges, graph.edge_features, np.where(seen, weight, 0.0))
