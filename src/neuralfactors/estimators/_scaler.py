"""GraphScaler: node and edge features of graphs at mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    node_scaler_, edge_scaler_ : StandardScaler
        With their `mean_` and `scale_`.
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
        self.node_scaler_, self.edge_scaler_ = (
            StandardScaler(with_mean=self.with_mean, with_std=self.with_std) for _ in range(2)
        )
        for start in range(0, len(X), BLOCK):
            graphs = [X[n] for n in range(start, min(start + BLOCK, len(X)))]
            self._see(self.node_scaler_, [graph.node_features for graph in graphs])
            self._see(self.edge_scaler_, [graph.edge_features for graph in graphs if graph.n_edges])
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
        if any(is_sparse(rows) for rows in features):
            if self.with_mean:
                raise ValueError("node_features are sparse, which means would fill: use GraphScaler(with_mean=False)")
            scaler.partial_fit(vstack(features, format="csr"))
        elif sum(rows.size for rows in features):
            scaler.partial_fit(np.concatenate(features))

    def _changed(self, X: Sequence[Graph], method: str) -> list[Graph]:
        check_is_fitted(self)
        X = check_sequence("X", X)
        graphs = [X[n] for n in range(len(X))]
        if graphs:
            n_nodes, n_edges, _ = check_agreement(graphs)
            _check_width("node", n_nodes, self.n_features_in_)
            if any(graph.n_edges for graph in graphs):
                _check_width("edge", n_edges, self.n_edge_features_)
        change: tuple[Callable[[Any], Any], ...] = tuple(
            getattr(scaler, method) for scaler in (self.node_scaler_, self.edge_scaler_)
        )
        return [_with_features(graph, *change) for graph in graphs]


def _check_width(what: str, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(f"X has {got} {what} features, but GraphScaler was fitted with {expected}")


def _with_features(graph: Graph, of_nodes: Callable[[Any], Any], of_edges: Callable[[Any], Any]) -> Graph:
    changed = copy(graph)
    for name, change in (("node_features", of_nodes), ("edge_features", of_edges)):
        rows = getattr(graph, name)
        if rows.shape[0] and rows.shape[1]:
            object.__setattr__(changed, name, change(rows))
    return changed
