"""GraphScaler: node and edge features of graphs at mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import vstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from neuralfactors._core.graph import Graph, check_agreement
from neuralfactors._core.sparse import is_sparse
from neuralfactors.learning._training_graphs import check_sequence

BLOCK = 256  # graphs that are read at a time
FEATURES = ("node_features", "edge_features")
Kind = tuple[int, ...] | None  # types of the nodes that rows belong to


@dataclass(eq=False, repr=False)
class GraphScaler(TransformerMixin, BaseEstimator):
    """scikit-learn's StandardScaler for lists of graphs: features of all nodes, and of all edges, are standardised.

    Parameters
    ----------
    with_mean : bool, default=True
        Whether to subtract the means. Sparse node features would become dense by that: they need False.
    with_std : bool, default=True
        Whether to divide by the deviations.

    Attributes
    ----------
    scalers_ : dict of str to dict
        The StandardScaler, with its `mean_` and `scale_`, of "node_features" and "edge_features": under None, or for
        every type `(t,)` of nodes and pair `(s, t)` of types that edges join, whose columns tell different things.
    n_features_in_ : int
        Number of node features.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from neuralfactors import StructuralSVM
    >>> X = [Graph([[100.0], [300.0]], [[0, 1]]), Graph([[300.0], [100.0]], [[0, 1]])]
    >>> GraphScaler().fit_transform(X)[0].node_features.tolist()
    [[-1.0], [1.0]]
    >>> make_pipeline(GraphScaler(), StructuralSVM((), ())).fit(X, [[0, 1], [1, 0]]).score(X, [[0, 1], [1, 0]])
    1.0
    """

    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True

    def fit(self, X: Sequence[Graph], Y: Any = None) -> Self:  # noqa: ARG002
        """Find means and deviations.

        Parameters
        ----------
        X : sequence of Graph
            With the same numbers of features.
        Y : object, default=None
            Not used.

        Returns
        -------
        self
            The fitted scaler.
        """
        from sklearn.preprocessing import StandardScaler  # which takes long to import

        X = check_sequence("X", X)
        self.n_features_in_, self.n_edge_features_, _ = check_agreement(X[n] for n in range(len(X)))
        self.scalers_: dict[str, dict[Kind, Any]] = {name: {} for name in FEATURES}
        for start in range(0, len(X), BLOCK):
            graphs = [X[n] for n in range(start, min(start + BLOCK, len(X)))]
            for name, scalers in self.scalers_.items():
                for kind, features in _by_kind(graphs, name).items():
                    new = StandardScaler(with_mean=self.with_mean, with_std=self.with_std)
                    self._see(scalers.setdefault(kind, new), features)
        return self

    def transform(self, X: Sequence[Graph]) -> list[Graph]:
        """The graphs with standardised features.

        Parameters
        ----------
        X : sequence of Graph
            With the numbers of features that the scaler was fitted with.

        Returns
        -------
        list of Graph
            All else stays; features keep their type, and sparse ones stay sparse.
        """
        return self._changed(X, "transform")

    def inverse_transform(self, X: Sequence[Graph]) -> list[Graph]:
        """The graphs with the features that they had before `transform`.

        Parameters
        ----------
        X : sequence of Graph
            As `transform` returns them.

        Returns
        -------
        list of Graph
            All else stays.
        """
        return self._changed(X, "inverse_transform")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _see(self, scaler: Any, features: list[Any]) -> None:
        """Let a scaler learn from the rows of all graphs."""
        if any(is_sparse(rows) for rows in features):
            if self.with_mean:
                raise ValueError(
                    "node_features are sparse, so centring would fill them: use GraphScaler(with_mean=False)"
                )
            scaler.partial_fit(vstack(features, format="csr"))
        else:
            scaler.partial_fit(np.concatenate(features))

    def _changed(self, X: Sequence[Graph], method: str) -> list[Graph]:
        """Graphs whose features the `method` of the scalers has changed."""
        check_is_fitted(self)
        X = check_sequence("X", X)
        graphs = [X[n] for n in range(len(X))]
        if graphs:
            n_nodes, n_edges, _ = check_agreement(graphs)
            _check_width("node", n_nodes, self.n_features_in_)
            if any(graph.n_edges for graph in graphs):
                _check_width("edge", n_edges, self.n_edge_features_)
        return [self._with_features(graph, method) for graph in graphs]

    def _with_features(self, graph: Graph, method: str) -> Graph:
        changed = copy(graph)
        for name, scalers in self.scalers_.items():
            groups = [(_scaler_of(scalers, kind, name), rows) for kind, rows in _groups(graph, name)]
            object.__setattr__(changed, name, _scaled(getattr(graph, name), groups, method))
        return changed


def _groups(graph: Graph, name: str) -> Iterator[tuple[Kind, Any]]:
    """Rows of features that are scaled alike: all, or those of a type of nodes or of a pair of types; none if empty."""
    if 0 in getattr(graph, name).shape:
        return
    if graph.node_types is None:
        yield None, slice(None)
        return
    kinds = graph.node_types[:, None] if name == "node_features" else graph.node_types[graph.edges]
    for kind in np.unique(kinds, axis=0):
        yield tuple(kind.tolist()), np.flatnonzero((kinds == kind).all(axis=1))


def _by_kind(graphs: list[Graph], name: str) -> dict[Kind, list[Any]]:
    found: dict[Kind, list[Any]] = {}
    for graph in graphs:
        for kind, rows in _groups(graph, name):
            found.setdefault(kind, []).append(getattr(graph, name)[rows])
    return found


def _scaler_of(scalers: dict[Kind, Any], kind: Kind, name: str) -> Any:
    if kind not in scalers:
        got, known = "no types" if kind is None else f"the types {kind}", [each for each in scalers if each is not None]
        raise ValueError(f"X has {name} of nodes with {got}, but GraphScaler was fitted with {known or 'none'}")
    return scalers[kind]


def _scaled(features: Any, groups: list[tuple[Any, Any]], method: str) -> Any:
    parts = [getattr(scaler, method)(features[rows]) for scaler, rows in groups]
    if len(parts) < 2:
        return parts[0] if parts else features
    order = np.argsort(np.concatenate([rows for _, rows in groups]))
    return (vstack(parts, format="csr") if is_sparse(features) else np.concatenate(parts))[order]


def _check_width(what: str, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(f"X has {got} {what} features, but GraphScaler was fitted with {expected}")
