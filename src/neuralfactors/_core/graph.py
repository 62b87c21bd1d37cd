"""Graphs with features: one sample of structured data, validated once, here.

What the rest of the package takes for granted of a graph (finite features, edges between existing nodes, one row of
features per edge) is checked when a `Graph` is made. Labels are checked by `graph_checks.check_labels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.labels import VOID
from neuralfactors._core.graph_checks import (
    as_numpy,
    check_edges,
    check_features,
    check_labels,
    check_node_weight,
    is_of_graphs,
)
from neuralfactors._core.node_types import check_node_types, stack_types
from neuralfactors._core.sparse import check_sparse, is_sparse, stored_arrays


class Counted:
    """What a graph and a batch of them count alike."""

    node_features: Any
    edges: Any

    @property
    def n_nodes(self) -> int:
        """Number of nodes, V; in a batch, of all graphs together."""
        return int(self.node_features.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of interactions, E; in a batch, of all graphs together."""
        return len(self.edges)


@dataclass(frozen=True, eq=False, init=False)
class Graph(Counted):
    """One sample: V nodes and E interactions, with their features.

    Parameters
    ----------
    node_features : array or sparse matrix of shape (V, D)
        What is known of every node. float32 and float64 stay as they are; other numbers become float32. Sparse matrices
        of scipy are held in compressed rows, as `csr_array`, and stay sparse up to the first layer of a factor.
    edges : array of shape (E, order), default=None
        The nodes of every interaction. None: no edges. For PyTorch Geometric's `edge_index` (2, E) pass its transpose.
    edge_features : array of shape (E, K), default=None
        What is known of every interaction. None: K is 0, and a factor on the edges is then a table of its own biases.
    node_weight : array of shape (V,) or (V, L), default=None
        What a wrong node costs, for instance the area of its region; None: 1 for every node. (V, L): what every label
        costs there, for learners with a margin; what counts is how much more than the true one. `score` then counts all
        nodes alike, and a cross-entropy weighs a node by its highest cost.
    order : int, default=2
        Number of nodes that meet in an interaction, Q.
    node_types : array of int of shape (V,), default=None
        The type of every node, from 0: nodes of one type share their labels and a factor, and so do edges between two
        types; see `of_types`. None: all nodes are of one kind. Only for order 2.

    Raises
    ------
    ValueError
        If shapes do not match, a feature is not finite, or an edge names a node that does not exist.

    Examples
    --------
    >>> graph = Graph([[0.0], [1.0], [2.0]], edges=[[0, 1], [1, 2]])
    >>> graph.n_nodes, graph.n_edges, graph.order
    (3, 2, 2)
    """

    node_features: Any  # (V, D), an array or a csr_array
    edges: NDArray[np.int64]  # (E, Q)
    edge_features: NDArray[np.floating[Any]]  # (E, K)
    node_weight: NDArray[np.floating[Any]] | None  # (V,) or (V, L)
    node_types: NDArray[np.int64] | None  # (V,)

    def __init__(
        self,
        node_features: ArrayLike,
        edges: ArrayLike | None = None,
        edge_features: ArrayLike | None = None,
        node_weight: ArrayLike | None = None,
        *,
        order: int = 2,
        node_types: ArrayLike | None = None,
    ) -> None:
        check = check_sparse if is_sparse(node_features) else partial(check_features, ndim=2)
        nodes: Any = check(node_features, "node_features")
        ends = check_edges(edges, nodes.shape[0], order)
        if edge_features is None:
            features = np.zeros((len(ends), 0), dtype=nodes.dtype)
        else:
            features = check_features(edge_features, "edge_features", ndim=2)
        if len(features) != len(ends):
            raise ValueError(f"edge_features needs one row per edge: expected {len(ends)} rows, got {len(features)}")
        weight = None if node_weight is None else check_node_weight(node_weight, nodes.shape[0])
        if node_types is not None and order != 2:
            raise ValueError(f"node_types needs order=2, got order={order}")
        types = None if node_types is None else check_node_types(node_types, nodes.shape[0])
        self._fill(nodes, ends, features, weight, types)

    @classmethod
    def of_types(
        cls,
        node_features: Sequence[ArrayLike],
        edges: ArrayLike | None = None,
        edge_features: ArrayLike | None = None,
        node_weight: ArrayLike | None = None,
    ) -> Graph:
        """A graph whose nodes come type by type, each type with features of its own.

        Parameters
        ----------
        node_features : sequence of arrays or sparse matrices of shape (n nodes of the type, its number of features)
            One per type; where one is sparse, all become so. Nodes are numbered in their order, first all of type 0,
            then all of type 1, and so on.
        edges : array of shape (E, 2), default=None
            As in the constructor.
        edge_features : array of shape (E, K), default=None
            As in the constructor; edges between types that have fewer have zeros in the columns behind.
        node_weight : array of shape (V,), default=None
            As in the constructor.

        Returns
        -------
        Graph
            With `node_types`; its features have zeros behind those of types that have fewer.

        Examples
        --------
        >>> graph = Graph.of_types([[[1.0, 2.0], [3.0, 4.0]], [[5.0]]], edges=[[0, 2], [1, 2]])
        >>> graph.node_types.tolist(), graph.node_features.tolist()
        ([0, 0, 1], [[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
        """
        features, types = stack_types(node_features)
        return cls(features, edges, edge_features, node_weight, node_types=types)

    @classmethod
    def unchecked(
        cls, node_features: Any, edges: Any, edge_features: Any, node_weight: Any, node_types: Any = None
    ) -> Graph:
        """A graph of arrays that are known to be valid: checking them would read all features once more.

        Parameters
        ----------
        node_features : ndarray of shape (V, D)
            float32 or float64, C-contiguous.
        edges : ndarray of shape (E, Q)
            int64, node numbers from 0 to V - 1.
        edge_features : ndarray of shape (E, K)
            Of the same kind as `node_features`.
        node_weight : ndarray of shape (V,) or (V, L), or None
            Not negative.
        node_types : ndarray of shape (V,), default=None
            int64.

        Returns
        -------
        Graph
            It holds these very arrays.
        """
        graph = object.__new__(cls)
        graph._fill(node_features, edges, edge_features, node_weight, node_types)
        return graph

    def _fill(self, nodes: Any, edges: Any, edge_features: Any, node_weight: Any, node_types: Any) -> None:
        object.__setattr__(self, "node_features", nodes)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "edge_features", edge_features)
        object.__setattr__(self, "node_weight", node_weight)
        object.__setattr__(self, "node_types", node_types)

    @property
    def order(self) -> int:
        """Number of nodes that meet in an interaction, Q."""
        return int(self.edges.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory that features and edges take."""
        arrays = *stored_arrays(self.node_features), self.edge_features, self.edges
        return sum(array.nbytes for array in arrays)

    def with_node_features(self, node_features: ArrayLike) -> Graph:
        """The same graph with other node features.

        Parameters
        ----------
        node_features : array of shape (V, D)
            One row per node; D may differ from that of this graph.

        Returns
        -------
        Graph
            It shares edges, edge features and weights with this one.
        """
        others = self.edges, self.edge_features, self.node_weight
        return Graph(node_features, *others, order=self.order, node_types=self.node_types)

    def subgraph(self, keep: NDArray[np.bool_]) -> Graph:
        """The graph of some of the nodes and of the edges between them.

        Parameters
        ----------
        keep : bool array of shape (V,)
            Which nodes stay; they are numbered anew, in their order.

        Returns
        -------
        Graph
            This graph itself where all nodes stay.

        Examples
        --------
        >>> path = Graph([[0.0], [1.0], [2.0]], edges=[[0, 1], [1, 2]])
        >>> path.subgraph(np.array([False, True, True])).edges.tolist()
        [[0, 1]]
        """
        if keep.all():
            return self
        number = np.cumsum(keep) - 1
        inside = keep[self.edges].all(axis=1)
        weight = None if self.node_weight is None else self.node_weight[keep]
        types = None if self.node_types is None else self.node_types[keep]
        edges = number[self.edges[inside]]
        return Graph.unchecked(self.node_features[keep], edges, self.edge_features[inside], weight, types)

    @classmethod
    def from_networkx(
        cls, graph: Any, node_features: str = "x", edge_features: str | None = None, label: str | None = None
    ) -> tuple[Graph, NDArray[np.int64] | None]:
        """A Graph and its labels from a networkx graph.

        Parameters
        ----------
        graph : networkx.Graph
            Or anything with its `nodes` and `edges` views. Nodes are numbered in the order in which `graph.nodes` gives
            them.
        node_features : str, default="x"
            Name of the attribute of nodes that holds their features: a number or a vector.
        edge_features : str, default=None
            That of edges; None: edges have no features.
        label : str, default=None
            Name of the attribute that holds a node's label; a node without it is void. None: there are no labels.

        Returns
        -------
        graph : Graph
            Of order 2.
        y : ndarray of shape (V,) or None
            Labels, -1 for void.
        """
        number = {node: i for i, (node, _) in enumerate(graph.nodes(data=True))}
        rows = [_attribute(data, node_features, f"node {node!r}") for node, data in graph.nodes(data=True)]
        ends = [(number[i], number[j]) for i, j, _ in graph.edges(data=True)]
        features = None
        if edge_features is not None and ends:
            edges = graph.edges(data=True)
            features = np.asarray([_attribute(data, edge_features, f"edge ({i!r}, {j!r})") for i, j, data in edges])
        y = None
        if label is not None:
            y = check_labels([data.get(label, VOID) for _, data in graph.nodes(data=True)], len(number), label)
        return cls(np.asarray(rows), np.asarray(ends).reshape(-1, 2), features), y

    @classmethod
    def from_pyg(cls, data: Any) -> tuple[Graph, NDArray[np.int64] | None]:
        """A Graph and its labels from a data object of PyTorch Geometric.

        PyTorch Geometric stores an undirected edge in both directions; where every edge has its reverse, the one with
        the smaller node first is kept.

        Parameters
        ----------
        data : torch_geometric.data.Data
            Or any object with `x` (V, D), `edge_index` (2, E) and, if there are any, `edge_attr` (E, K) and `y` (V,).

        Returns
        -------
        graph : Graph
            Of order 2.
        y : ndarray of shape (V,) or None
            Labels, None where `data` has no `y`, or one for the whole graph.
        """
        ends = as_numpy(data.edge_index, "edge_index")
        if ends.ndim != 2 or ends.shape[0] != 2:
            raise ValueError(f"edge_index must have shape (2, E), got {ends.shape}")
        edges = np.ascontiguousarray(ends.T)
        attributes = getattr(data, "edge_attr", None)
        features = None if attributes is None else as_numpy(attributes, "edge_attr").reshape(len(edges), -1)
        pairs = {(int(i), int(j)) for i, j in edges}
        if edges.size and all((j, i) in pairs for i, j in pairs):
            keep = edges[:, 0] <= edges[:, 1]
            edges, features = edges[keep], None if features is None else features[keep]
        made, y = cls(as_numpy(data.x, "x"), edges, features), getattr(data, "y", None)
        if y is None or is_of_graphs(as_numpy(y, "y"), made.n_nodes, 1):
            return made, None
        return made, check_labels(as_numpy(y, "y").reshape(-1), made.n_nodes)


def check_agreement(graphs: Iterable[Graph]) -> tuple[int, int, int]:
    """Numbers of node features, of edge features and of nodes an edge joins, which all graphs must share.

    A graph without edges agrees with any edge features and any order; where no graph has an edge, these are 0 and 2.
    One pass, so that `graphs` may be read lazily. What is no `Graph` is refused, and no graph at all, and two that
    differ, which the sentence names.
    """
    nodes, edges, order = "columns of node_features", "columns of edge_features", "nodes in an edge"
    seen: dict[str, tuple[int, int]] = {}  # what is counted -> the count, and the first graph that has it
    for n, graph in enumerate(graphs):
        if not isinstance(graph, Graph):
            raise ValueError(f"X must contain neuralfactors.Graph objects, got {type(graph).__name__} at position {n}")
        counts = {nodes: graph.node_features.shape[1]}
        if graph.n_edges:
            counts |= {edges: graph.edge_features.shape[1], order: graph.order}
        for what, count in counts.items():
            expected, first = seen.setdefault(what, (count, n))
            if count != expected:
                raise ValueError(f"graph {n} has {count} {what}, but graph {first} has {expected}")
    if not seen:
        raise ValueError("X must contain at least one Graph, got none")
    return seen[nodes][0], seen.get(edges, (0,))[0], seen.get(order, (2,))[0]


def _attribute(data: dict[str, Any], name: str, where: str) -> Any:
    if name not in data:
        raise ValueError(f"{where} has no attribute {name!r}; it has {sorted(map(str, data))}")
    return np.atleast_1d(as_numpy(data[name], name))
