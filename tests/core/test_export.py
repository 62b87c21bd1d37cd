"""Exported factors give the scores of the model, for graphs of other sizes too; solving needs only them."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from neuralfactors import (
    BatchModel,
    Factor,
    FactorModel,
    Graph,
    GraphBatch,
    Potentials,
    StructuralSVM,
    decode,
    export_factors,
    solve,
)
from neuralfactors._core.export import TensorModel
from neuralfactors.datasets import make_grids


class Pairs(nn.Module):
    """Tables of edges from the learned features of both ends, or one that all share."""

    def __init__(self, shared):
        super().__init__()
        self.hidden, self.unary, self.pair = nn.Linear(2, 4), nn.Linear(4, 3), nn.Linear(8, 9)
        self.table = nn.Parameter(torch.eye(3)) if shared else None

    def forward(self, batch):
        hidden = torch.tanh(self.hidden(batch.node_features))
        tables = self.pair(hidden[batch.edges].flatten(1)).view(-1, 3, 3)
        interaction = tables if self.table is None else self.table
        return Potentials(self.unary(hidden), interaction, batch.edges, batch.node_ptr, batch.edge_ptr)


def ring(n_nodes, seed=0, n_edge_features=2):
    rng = np.random.default_rng(seed)
    edges = [[i, (i + 1) % n_nodes] for i in range(n_nodes)]
    return Graph(rng.normal(size=(n_nodes, 2)), edges, rng.normal(size=(n_nodes, n_edge_features)))


MODELS = {
    "neural": lambda: FactorModel(Factor(2, 3, hidden=(5,)), Factor(2, 3, order=2, hidden=(5,)), n_labels=3),
    "symmetric": lambda: FactorModel(Factor(2, 3), Factor(2, 3, order=2, symmetric=True), n_labels=3),
    "unary": lambda: FactorModel(Factor(2, 3), None, n_labels=3),
    "pairs": lambda: Pairs(False),
    "shared": lambda: Pairs(True),
}


def tensors_of(batch):
    return batch.node_features, batch.edges, batch.edge_features


@pytest.mark.parametrize("name", MODELS)
def test_programs_give_the_scores_of_the_model(name, tmp_path):
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    torch.export.save(export_factors(model, GraphBatch.from_graphs([ring(4)])), tmp_path / "factors.pt2")
    program = torch.export.load(tmp_path / "factors.pt2").module()
    for n_nodes in (3, 7):
        batch = GraphBatch.from_graphs([ring(n_nodes, seed=1)])
        with torch.no_grad():
            found, potentials = program(*tensors_of(batch)), model(batch)
        torch.testing.assert_close(found, (potentials.unary, potentials.interaction))
        labels = solve(*(scores.detach().numpy() for scores in found), batch.edges.numpy()).labels
        assert labels.tolist() == decode(potentials).tolist()


@pytest.mark.parametrize("own", [False, True])
def test_a_fitted_estimator_is_exported(own):
    X, Y = make_grids(6, 4)
    n_labels = 1 + max(int(y.max()) for y in Y)

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.factors = FactorModel(Factor(X[0].node_features.shape[1], n_labels), None, n_labels)

        def forward(self, batch):
            return self.factors(batch)

    svm = StructuralSVM(BatchModel(Own()) if own else (8,), (8,), max_iter=3).fit(X, Y)
    program = export_factors(svm.model_, GraphBatch.from_graphs(X[:1])).module()
    batch = GraphBatch.from_graphs(X[1:2])
    with torch.no_grad():
        unary, interaction = program(*tensors_of(batch))
    assert (
        solve(unary.numpy(), interaction.numpy(), batch.edges.numpy()).labels.tolist()
        == svm.predict(X[1:2])[0].tolist()
    )


def test_onnx(tmp_path):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    reference = pytest.importorskip("onnx.reference", reason="onnx is not installed")
    torch.manual_seed(0)
    model, path = MODELS["neural"]().eval(), tmp_path / "factors.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(export_factors(model, GraphBatch.from_graphs([ring(4)])), f=str(path))
    evaluator, batch = reference.ReferenceEvaluator(str(path)), GraphBatch.from_graphs([ring(6, seed=1)])
    values = dict(zip(("node_features", "edges", "edge_features"), tensors_of(batch), strict=True))
    found = evaluator.run(None, {name: values[name].numpy() for name in evaluator.input_names})
    with torch.no_grad():
        expected = TensorModel(model)(*tensors_of(batch))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6)
