"""Factors without Python: exported by torch, to be run anywhere, while the kernel decodes what they give."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from neuralfactors._core.graph_batch import GraphBatch


class TensorModel(nn.Module):
    """A model as a function of tensors alone: features and edges of one graph in, scores of nodes and edges out.

    The model takes a GraphBatch to Potentials: a `FactorModel`, the `model_` of an estimator, or a network of one's
    own.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, node_features: Tensor, edges: Tensor, edge_features: Tensor) -> tuple[Tensor, Tensor]:
        """The scores (V, L) and (E, L, L) of a graph with V nodes and E edges."""
        ends = torch.arange(2)
        node_ptr, edge_ptr = ends * node_features.shape[0], ends * edges.shape[0]
        potentials = self.model(GraphBatch(node_features, edges, edge_features, node_ptr, edge_ptr))
        return potentials.unary, potentials.interaction


def export_factors(model: nn.Module, batch: GraphBatch) -> ExportedProgram:
    """The model as `torch.export` has it, for graphs of any size with at least two nodes and two edges.

    `torch.export.save` writes it for PyTorch's runtimes, and `torch.onnx.export` for those of ONNX (it needs the
    package onnxscript). Inference is not part of it: what it gives goes to `neuralfactors.solve`, which needs no torch.

    Parameters
    ----------
    model : nn.Module
        As in `TensorModel`.
    batch : GraphBatch
        An example, with at least two nodes and two edges.

    Returns
    -------
    ExportedProgram
        Node features, edges and edge features in, scores of nodes and edges out.

    Examples
    --------
    >>> from neuralfactors import Factor, FactorModel, Graph, solve
    >>> model = FactorModel(Factor(1, 3), Factor(0, 3, order=2), n_labels=3).eval()
    >>> edges = [[0, 1], [1, 2]]
    >>> program = export_factors(model, GraphBatch.from_graphs([Graph([[0.0], [1.0], [2.0]], edges)]))
    >>> with torch.no_grad():
    ...     unary, interaction = program.module()(torch.ones(4, 1), torch.tensor([*edges, [2, 3]]), torch.zeros(3, 0))
    >>> solve(unary.numpy(), interaction.numpy(), [*edges, [2, 3]]).status
    'optimal'
    >>> # torch.onnx.export(program, f="factors.onnx")
    """
    nodes, edges = {0: Dim("nodes")}, {0: Dim("edges")}
    arguments = batch.node_features, batch.edges, batch.edge_features
    # Strict: else `len` of a tensor would be that of the example for good.
    return torch.export.export(TensorModel(model), arguments, dynamic_shapes=(nodes, edges, edges), strict=True)
