"""LatentSVM: labels with hidden states, and nodes whose label is never seen, around any structural SVM."""

from __future__ import annotations

import warnings
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
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.node_types import NodeTypes
from neuralfactors._core.potentials import Potentials
from neuralfactors.estimators._base import StructuredEstimator
from neuralfactors.estimators._labels import LabelledPredictor, Predictions
from neuralfactors.estimators._linear_svms import FrankWolfeSVM
from neuralfactors.estimators._parts import Parts, or_default
from neuralfactors.estimators._prediction import Predictor
from neuralfactors.estimators._saving import Saved, Stored, from_document, to_document, to_json
from neuralfactors.estimators._start_states import start_states
from neuralfactors.estimators._states import Counts, Labels, States
from neuralfactors.estimators._structural import StructuralSVM
from neuralfactors.learning._losses import check_count, check_option
from neuralfactors.learning._training_graphs import Samples

ROUNDS = {"alternate": 5, "subgradient": 100}


@dataclass(eq=False, repr=False)
class LatentSVM(Saved, LabelledPredictor):
    """Structural SVM in which every label has hidden states, and nodes labelled −1 are hidden altogether.

    Learning begins with states by k-means, of the features of a node and its neighbours, as equal states would stay
    equal for ever. It then alternates: `base` learns from the states, and the states become those that fit it best
    among those of the given labels.

    Parameters
    ----------
    n_states : int or sequence, default=2
        States of every label, or one number for each label. 1: no hidden states; nodes labelled −1 remain hidden. For
        graphs with `node_types`, an entry per type, each a number or one for each label of the type. A type whose nodes
        are all labelled −1 has one label, whose states are what they may be.
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
        The label of every state; a list of such arrays, one per type, where nodes have types.
    n_iter_ : int
        Completions that took place.

    Examples
    --------
    >>> from neuralfactors import point_graphs
    >>> X = np.array([[-2.0], [0.0], [2.0]] * 10)  # the label in the middle, which no linear score can tell
    >>> Y = (X == 0).astype(int)
    >>> LatentSVM([2, 1]).fit(point_graphs(X), Y).score(point_graphs(X), Y)
    1.0
    """

    n_states: Counts = 2
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
        samples = self._check(X, Y, sample_weight, continuing)
        states = States.of(self.n_states, samples.n_labels, samples.types)
        if continuing and states.plain != self._known_states.plain:
            raise ValueError(
                f"the model to continue has states of the labels {self._known_states.plain}, but "
                f"{states.plain} are needed: fit a clone, or set warm_start=False"
            )
        self.n_labels_, self.label_values_ = samples.n_labels, samples.classes
        self._known_states: States = states
        seen = [_with_costs_of_states(samples.X[n], y, states) for n, y in enumerate(samples.Y)]
        self._alternate(seen, samples, self._first_states(seen, samples, continuing), rounds)
        return self

    def _check(
        self, X: Sequence[Graph], Y: Sequence[ArrayLike], sample_weight: ArrayLike | None, continuing: bool
    ) -> Samples:
        known, classes, last = (self.n_labels_, self.label_values_, self._n_labels()) if continuing else (0, None, None)
        return Samples.check(X, Y, last, known=known, drop_void=False, classes=classes, sample_weight=sample_weight)

    def _n_labels(self) -> int | list[int]:
        """Of all nodes, or of those of every type."""
        return self._known_states.n_labels if self._known_states.typed else self.n_labels_

    @property
    def state_label_(self) -> Labels | list[Labels]:
        """The label of every state, or a list of such arrays, one per type of nodes."""
        check_is_fitted(self, "base_")
        states = self._known_states
        return list(states.by_type) if states.typed else states.by_type[0]

    def _first_states(self, X: list[Graph], samples: Samples, continuing: bool) -> list[Labels]:
        """The states to begin with; `base_` is ready to learn from them."""
        base = clone(self.part("base"))
        options = {**base.get_params(deep=False), "n_labels": self._n_states(), **self._costs(samples)}
        if continuing:
            self.base_.set_params(**options)
            return self._states(X, list(samples.Y))
        self.base_: Any = base.set_params(**options)
        return start_states(samples, self._known_states, seed_of(self.random_state))

    def _n_states(self) -> int | list[int]:
        """As `n_labels` of the base."""
        return self._known_states.counts if self._known_states.typed else self._known_states.counts[0]

    def _alternate(self, X: list[Graph], samples: Samples, states: list[Labels], rounds: int) -> None:
        """Improve the model and complete the states in turns, `rounds` times at most."""
        for self.n_iter_ in range(1, rounds + 1):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", UserWarning)
                self._improve(X, states, samples.weight)
            completed = self._states(X, list(samples.Y))
            changed = any((a != b).any() for a, b in zip(states, completed, strict=True))
            states = completed
            if not changed and self.learner == "alternate":
                break
        for each in told:  # of the last round only, where `fit` was called
            warnings.warn(each.message, each.category, stacklevel=3)

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
        found, states = self.base_._proba(X, self._check_known(X, known), self._restrict), self._known_states
        return Predictions(states.add_up(p, X[n].node_types) for n, p in enumerate(found))

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

    def loss_augmented_predict(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> list[NDArray[Any]]:
        """The labelling that violates the margin most, over all states; as in `StructuralSVM`.

        Parameters
        ----------
        X : sequence of Graph
            The graphs.
        Y : sequence of arrays
            True labels, one array per graph; hidden nodes cost nothing.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, one array per graph.
        """
        check_is_fitted(self, "base_")
        samples = self._check(X, Y, None, continuing=True)
        seen = [_with_costs_of_states(samples.X[n], y, self._known_states) for n, y in enumerate(samples.Y)]
        found = self.base_.loss_augmented_predict(seen, self._states(seen, list(samples.Y)))
        return self._decode(self._labels_of(seen, found))

    def _state(self) -> State:
        check_is_fitted(self, "base_")
        document, tensors = self.base_.state()
        own = {name: value for name, value in self.get_params(deep=False).items() if name != "base"}
        body = {"class": type(self).__name__, **_described(own), "state_label": self._known_states.plain}
        body |= {"n_iter": self.n_iter_, "label_values": to_json(self.label_values_)}
        body |= {"unfitted": _described(self.part("base").plain_params()), "base": document}
        return State(body, tensors)

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        """The estimator that was saved, its fitted base and the parameters to fit another with."""
        loaded, (document, tensors, path, parameters) = cls(), stored
        from_document(loaded, document, path, {})
        loaded.base_ = StructuredEstimator.from_state(document["base"], tensors, path, **parameters)
        loaded.base = type(loaded.base_)()
        from_document(loaded.base, document["unfitted"], path, parameters)
        loaded._known_states, loaded.n_iter_ = States.stored(document["state_label"]), document["n_iter"]
        loaded.n_labels_ = max(loaded._known_states.n_labels)
        values = document["label_values"]
        loaded.label_values_ = None if values is None else np.array(values)
        return loaded

    def _improve(self, X: list[Graph], states: list[Labels], sample_weight: ArrayLike | None) -> None:
        if self.learner == "subgradient":
            self.base_.partial_fit(X, states, self._n_states(), sample_weight)
        else:
            self.base_.fit(X, states, sample_weight)

    def _states(self, X: Sequence[Graph], Y: Sequence[Labels] | None) -> list[Labels]:
        states: list[Labels] = self.base_._decode_altered(X, Y, self._restrict)
        return states

    def _predict(self, X: Sequence[Graph], known: Sequence[Labels] | None = None) -> list[Labels]:
        return self._labels_of(X, self._states(X, known))

    def _labels_of(self, X: Sequence[Graph], states: list[Labels]) -> list[Labels]:
        return [self._known_states.labels(own, X[n].node_types) for n, own in enumerate(states)]

    def _types(self) -> NodeTypes | None:
        return NodeTypes(tuple(self._known_states.n_labels), ()) if self._known_states.typed else None

    def _restrict(self, given: Potentials, y: Tensor, batch: GraphBatch) -> Potentials:
        """The potentials in which every labelled node has a state of its label."""
        types = None if batch.node_types is None else batch.node_types.cpu().numpy()
        labels = torch.from_numpy(self._known_states.rows(types, len(y))).to(y.device)
        allowed = (labels == y[:, None]) | (y < 0)[:, None]
        return given.with_unary(given.unary.masked_fill(~allowed, -torch.inf))

    def _costs(self, samples: Samples) -> dict[str, Any]:
        """The base's own weight of classes, for states: those of one label are equally right."""
        known = self.part("base").get_params(deep=False)
        if "class_weight" not in known or self._known_states.typed:
            return {}
        labels = self._known_states.by_type[0]
        weight = samples.class_weight(known["class_weight"])
        if not self._known_states.hidden:
            return {"class_weight": weight}
        weight = np.ones(samples.n_labels) if weight is None else weight
        square = weight if weight.ndim == 2 else weight[:, None] * (1 - np.eye(samples.n_labels))
        return {"class_weight": square[np.ix_(labels, labels)]}


def _described(parameters: Mapping[str, Any]) -> dict[str, Any]:
    known, omitted = to_document(parameters)
    return {"parameters": known, "omitted": omitted}


def _with_costs_of_states(graph: Graph, y: Labels, states: States) -> Graph:
    """The graph with costs by state where it has costs by label or types, and none at all where nodes are hidden."""
    weight = np.ones(len(y)) if graph.node_weight is None else graph.node_weight
    by_type = states.typed and states.hidden  # for which there is no class_weight that could say it
    if (y >= 0).all() and weight.ndim == 1 and not by_type:
        return graph
    labels = states.rows(graph.node_types, len(y))
    if weight.ndim == 2:
        weight = np.take_along_axis(weight, np.maximum(labels, 0), axis=1)
    elif by_type:
        weight = weight[:, None] * (labels != y[:, None])
    seen = (y >= 0).reshape(-1, *[1] * (weight.ndim - 1))
    costs = np.where(seen, weight, 0.0)
    return Graph.unchecked(graph.node_features, graph.edges, graph.edge_features, costs, graph.node_types)
