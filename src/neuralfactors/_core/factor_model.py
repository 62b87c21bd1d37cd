"""The model of an estimator: a unary and an interaction factor, or one module, applied to a batch of graphs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuralfactors._core.factors import Factor
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.layers import Workspace, stages
from neuralfactors._core.potentials import Potentials
from neuralfactors._core.sparse import row_blocks

# Activations that treat every number by itself and take no chances.
ELEMENTWISE = (
    nn.CELU, nn.ELU, nn.GELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh, nn.Identity, nn.LeakyReLU,
    nn.LogSigmoid, nn.Mish, nn.PReLU, nn.ReLU, nn.ReLU6, nn.SELU, nn.SiLU, nn.Sigmoid, nn.Softplus, nn.Softshrink,
    nn.Softsign, nn.Tanh, nn.Tanhshrink, nn.Threshold,
)  # fmt: skip


class FactorModel(nn.Module):
    """A unary and an interaction factor applied to a batch: GraphBatch in, Potentials out.

    Training is faster where both are `Factor`, or made of torch's linear layers and activations only: what is not known
    to compute every row by itself goes through autograd as a whole.

    Parameters
    ----------
    unary : nn.Module
        Node features (V, D) in, (V, L) out; a `Factor` of order 1, or any module of that shape.
    interaction : nn.Module or None
        Edge features (E, K) in, (E, L^Q) out; a `Factor` of order Q, or any module of that shape. None: zeros.
    n_labels : int
        Number of labels, L.

    Examples
    --------
    >>> from neuralfactors import Graph
    >>> model = FactorModel(Factor(1, 3), Factor(2, 3, order=2), n_labels=3)
    >>> batch = GraphBatch.from_graphs([Graph([[0.0], [1.0]], [[0, 1]], [[0.5, 0.5]])])
    >>> model(batch).interaction.shape
    torch.Size([1, 3, 3])
    """

    def __init__(self, unary: nn.Module, interaction: nn.Module | None, n_labels: int) -> None:
        super().__init__()
        self.unary = unary
        self.interaction = interaction
        self.n_labels = n_labels

    def forward(self, batch: GraphBatch, workspace: Workspace | None = None) -> Potentials:
        """Potentials of a batch.

        Parameters
        ----------
        batch : GraphBatch
            Graphs with the features that the factors expect.
        workspace : Workspace, default=None
            None: the potentials are differentiable. Else they are not, and hold until the workspace is used again.

        Returns
        -------
        Potentials
            With the edges and pointers of the batch. Without gradient, edges that have no features share one table.

        Raises
        ------
        ValueError
            If a module gives values of another shape than it should.
        """
        unary = self._values("unary", batch.node_features, workspace)
        self._check(unary, (batch.n_nodes, self.n_labels), "unary")
        order = batch.edges.shape[1]
        if self.interaction is None or not batch.n_edges:
            interaction = unary.new_zeros((batch.n_edges,) + (self.n_labels,) * order)
        else:
            features = self._distinct(batch.edge_features) if workspace is None else batch.edge_features
            interaction = self._values("interaction", features, workspace)
            self._check(interaction, (len(features), self.n_labels**order), "interaction")
            interaction = interaction.view((len(features),) + (self.n_labels,) * order)
        return Potentials(unary, interaction, batch.edges, batch.node_ptr, batch.edge_ptr)

    def _distinct(self, features: Tensor) -> Tensor:
        alike = features.shape[1] == 0 and isinstance(self.interaction, Factor) and not torch.is_grad_enabled()
        return features[:1] if alike else features

    def _values(self, part: str, features: Tensor, workspace: Workspace | None) -> Tensor:
        """What a factor says of each row of `features`; refused where these are of another width."""
        factor = getattr(self, part)
        if isinstance(factor, Factor) and features.shape[1] != factor.n_features:
            rows = "nodes" if part == "unary" else "edges"
            told = f"the {part} factor takes {factor.n_features} features, but the {rows} of the graphs have"
            raise ValueError(f"{told} {features.shape[1]}")
        if workspace is not None and isinstance(factor, Factor):
            return factor.evaluate(features, workspace, part)
        if isinstance(factor, Factor) and features.layout is torch.sparse_csr and not torch.is_grad_enabled():
            return torch.cat([factor(rows) for rows in row_blocks(features, factor.weight.dtype)])
        values: Tensor = factor(features)
        return values

    def backward_contrast(
        self, part: str, features: Tensor, rows: Tensor, plus: Tensor, minus: Tensor, workspace: Workspace | None = None
    ) -> None:
        """Add ∇ Σₙ (output plus[n] − output minus[n]) over some rows to the gradients of one factor.

        Dropout drops what it dropped in the last pass over all of `features` with this `workspace`.

        Parameters
        ----------
        part : str
            "unary" or "interaction".
        features : Tensor of shape (N, D)
            Features of all nodes or edges of a batch.
        rows : Tensor of shape (R,)
            The rows that take part.
        plus, minus : Tensor of shape (N,)
            int64, the outputs to raise and to lower in every row.
        workspace : Workspace, default=None
            That of the last `forward`.
        """
        factor = getattr(self, part)
        features, plus, minus = features[rows], plus[rows], minus[rows]
        if isinstance(factor, Factor):
            masks = [] if workspace is None else workspace.masks.get(part, [])
            factor.backward_contrast(features, plus, minus, [mask[rows] for mask in masks])
            return
        values: Tensor = factor(features)
        if values.requires_grad:  # a module given in place of a factor may have nothing to learn
            torch.autograd.backward((values.gather(1, plus[:, None]) - values.gather(1, minus[:, None])).sum())

    def node_values(self, batch: GraphBatch) -> Tensor:
        """Scores of the labels of every node, by the unary factor alone.

        Parameters
        ----------
        batch : GraphBatch
            As in `forward`.

        Returns
        -------
        Tensor of shape (V, L)
            Differentiable; −inf for labels that the type of a node does not have.
        """
        return self._values("unary", batch.node_features, None)

    def without_interaction(self) -> FactorModel:
        """The model without its interaction.

        Returns
        -------
        FactorModel
            It shares the parameters of the unary factor.
        """
        return FactorModel(self.unary, None, self.n_labels)

    def products_per_row(self) -> tuple[float, float]:
        """Multiplications for a node and for an edge, at most.

        Returns
        -------
        node, edge : float
            As many as there are parameters; inf for modules of which nothing is known.
        """
        return products_of(self.unary), products_of(self.interaction)

    @property
    def rowwise(self) -> bool:
        """Whether each row is computed independently and deterministically, so some can be computed without others.

        A module of unknown type may do anything in its `forward`, so that only torch's own layers are trusted.
        """
        return all(_is_rowwise(factor) for factor in (self.unary, self.interaction) if factor is not None)

    @staticmethod
    def _check(values: Tensor, expected: tuple[int, int], name: str) -> None:
        if values.shape != expected:
            raise ValueError(f"the {name} factor must return values of shape {expected}, got {tuple(values.shape)}")


class BatchModel(FactorModel):
    """A module that makes the potentials of a whole batch, such as a graph network, in place of two factors.

    Parameters
    ----------
    module : nn.Module
        GraphBatch in, Potentials out.
    n_labels : int or None, default=None
        Number of labels, L; None: as many as the module gives, or as the estimator that it is given to finds.

    Examples
    --------
    >>> from neuralfactors import Graph
    >>> model = BatchModel(FactorModel(Factor(1, 3), None, n_labels=3))
    >>> model(GraphBatch.from_graphs([Graph([[0.0], [1.0]], [[0, 1]])])).unary.shape
    torch.Size([2, 3])
    """

    def __init__(self, module: nn.Module, n_labels: int | None = None) -> None:
        if not isinstance(module, nn.Module):
            raise ValueError(f"module must be an nn.Module, got {module!r}")
        super().__init__(module, None, n_labels or 0)

    def forward(self, batch: GraphBatch, workspace: Workspace | None = None) -> Potentials:  # noqa: ARG002
        """Potentials of a batch.

        Parameters
        ----------
        batch : GraphBatch
            Graphs with the features that the module expects.
        workspace : Workspace, default=None
            Not used.

        Returns
        -------
        Potentials
            Those of the module, differentiable.

        Raises
        ------
        ValueError
            If the module gives something else.
        """
        potentials: Potentials = self.unary(batch)
        if not isinstance(potentials, Potentials):
            raise ValueError(f"the model must give Potentials for a GraphBatch, got {type(potentials).__name__}")
        self._check(potentials.unary, (batch.n_nodes, self.n_labels or potentials.n_labels), "model's unary")
        if potentials.node_ptr is not batch.node_ptr and not torch.equal(potentials.node_ptr, batch.node_ptr):
            raise ValueError("the model must give potentials with the node_ptr of the batch: pass it on to them")
        return potentials

    @property
    def rowwise(self) -> bool:
        """Never: what such a module computes of a row may depend on any other."""
        return False


def products_of(factor: nn.Module | None) -> float:
    """Multiplications for a row of a factor, or of the largest of several in a container; inf where that is unknown."""
    if isinstance(factor, (nn.ModuleList, nn.ModuleDict)):
        return max(map(products_of, factor.children()), default=0.0)
    if factor is None:
        return 0.0
    return float(sum(p.numel() for p in factor.parameters())) if _is_rowwise(factor) else float("inf")


def _is_rowwise(factor: nn.Module) -> bool:
    if type(factor) is not Factor:
        return all(_is_known(module) for module in factor.modules())
    # What dropout has dropped here is known; see `evaluate`. An activation may have been given by the user.
    layers = stages(factor.hidden)
    activations = [layer.activation for layer in layers]
    known = all(map(_is_known, [factor, *activations, *(layer.linear for layer in layers)]))
    return known and all(type(activation) in ELEMENTWISE for activation in activations)


def _is_known(module: nn.Module) -> bool:
    if module._forward_hooks or module._forward_pre_hooks:
        return False
    if type(module) is nn.LayerNorm:
        return len(module.normalized_shape) == 1  # with two, its means are over rows as well
    return type(module) in (Factor, nn.Sequential, nn.Linear, *ELEMENTWISE)
