"""The model of graphs with types of nodes: a factor for every type, and one for every pair of types that edges join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.layers import Workspace
from neuralfactors._core.potentials import Potentials
from neuralfactors._core.ragged_tables import RaggedTables
from neuralfactors._core.sparse import take_rows


class TypedModel(FactorModel):
    """Factors by type of node, applied to a batch: GraphBatch with `node_types` in, Potentials out.

    Parameters
    ----------
    unary : sequence of nn.Module
        For every type: node features (N, D) in, (N, labels of the type) out.
    interaction : mapping of pairs of types to nn.Module
        For edges from a node of the first type to one of the second: edge features (N, K) in, (N, labels of the first ·
        labels of the second) out. Edges between other types score 0.
    type_labels : sequence of int
        Number of labels of every type.

    Examples
    --------
    >>> from neuralfactors import Graph
    >>> model = TypedModel([nn.Linear(1, 2), nn.Linear(1, 3)], {(0, 1): nn.Linear(0, 6)}, [2, 3])
    >>> batch = GraphBatch.from_graphs([Graph([[0.0], [1.0]], [[0, 1]], node_types=[0, 1])])
    >>> model(batch).sizes.tolist(), len(model(batch).interaction)
    ([2, 3], 6)
    """

    def __init__(
        self,
        unary: Sequence[nn.Module],
        interaction: Mapping[tuple[int, int], nn.Module],
        type_labels: Sequence[int],
    ) -> None:
        by_name = {f"{first}-{second}": factor for (first, second), factor in interaction.items()}
        super().__init__(nn.ModuleList(unary), nn.ModuleDict(by_name), max(type_labels))
        self.pairs = list(interaction)
        self.type_labels = list(type_labels)

    def forward(self, batch: GraphBatch, workspace: Workspace | None = None) -> Potentials:  # noqa: ARG002
        """Potentials of a batch.

        Parameters
        ----------
        batch : GraphBatch
            Graphs with types.
        workspace : Workspace, default=None
            Not used.

        Returns
        -------
        Potentials
            Differentiable; with `sizes` where types differ in their number of labels.

        Raises
        ------
        ValueError
            If the graphs have no types, or a module gives values of another shape than it should.
        """
        types, rest = self._types_of(batch), (batch.edges, batch.node_ptr, batch.edge_ptr)
        sizes = torch.tensor(self.type_labels, device=types.device)[types]
        tables = RaggedTables.of(sizes, batch.edges, self.n_labels)
        unary, flat = self.node_values(batch), self._interaction(batch, types, tables)
        if len(set(self.type_labels)) == 1:
            return Potentials(unary, flat.view(-1, self.n_labels, self.n_labels), *rest)
        return Potentials(unary, flat, *rest, sizes=sizes.cpu())

    def node_values(self, batch: GraphBatch) -> Tensor:
        """Scores of the labels of every node, by the unary factors alone.

        Parameters
        ----------
        batch : GraphBatch
            As in `forward`.

        Returns
        -------
        Tensor of shape (V, L)
            Differentiable; −inf for labels that the type of a node does not have.
        """
        types = self._types_of(batch)
        values = batch.edge_features.new_full((len(types), self.n_labels), -torch.inf)
        for kind, factor in enumerate(self.unary.children()):
            rows = torch.nonzero(types == kind)[:, 0]
            own: Tensor = factor(take_rows(batch.node_features, rows))
            self._check(own, (len(rows), self.type_labels[kind]), f"unary[{kind}]")
            padded = functional.pad(own, (0, self.n_labels - own.shape[1]), value=-torch.inf)
            values = values.to(own.dtype).index_copy(0, rows, padded)
        return values

    def _interaction(self, batch: GraphBatch, types: Tensor, tables: RaggedTables) -> Tensor:
        """Scores of all edges, one table after another, each by the factor of its pair of types."""
        values = batch.edge_features.new_zeros(tables.n_entries)
        ends = types[batch.edges]
        factors = () if self.interaction is None else self.interaction.children()
        for pair, factor in zip(self.pairs, factors, strict=True):
            rows = torch.nonzero((ends == torch.tensor(pair, device=ends.device)).all(dim=1))[:, 0]
            own: Tensor = factor(batch.edge_features[rows])
            n_entries = self.type_labels[pair[0]] * self.type_labels[pair[1]]
            self._check(own, (len(rows), n_entries), f"interaction[{pair}]")
            place = tables.first[rows][:, None] + torch.arange(n_entries, device=rows.device)
            values = values.to(own.dtype).index_copy(0, place.flatten(), own.flatten())
        return values

    def without_interaction(self) -> TypedModel:
        """The model without its interactions.

        Returns
        -------
        TypedModel
            It shares the parameters of the unary factors.
        """
        return TypedModel(list(self.unary.children()), {}, self.type_labels)

    @staticmethod
    def _types_of(batch: GraphBatch) -> Tensor:
        if batch.node_types is None:
            raise ValueError("the model has factors for types of nodes, but the graphs have no node_types")
        return batch.node_types

    @property
    def rowwise(self) -> bool:
        """Never: which factor computes a row depends on its type."""
        return False
