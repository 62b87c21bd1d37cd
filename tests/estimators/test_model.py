"""StructuralSVM with a module that makes the potentials of whole batches: a graph network, pairs of learned nodes."""

import numpy as np
import pytest
import torch
from learners import FAST, make
from sklearn.base import clone
from torch import nn

from neuralfactors import BatchModel, Graph, Potentials, StructuralSVM
from neuralfactors.datasets import make_chains

N_LABELS = 3


class GraphNetwork(nn.Module):
    """Nodes hear of their neighbours; the table of an edge comes from both of its learned nodes."""

    def __init__(self, n_features, n_hidden=8, shared=False):
        super().__init__()
        self.own, self.heard = nn.Linear(n_features, n_hidden), nn.Linear(n_features, n_hidden)
        self.unary = nn.Linear(n_hidden, N_LABELS)
        self.pair = nn.Linear(2 * n_hidden, N_LABELS**2)
        self.table = nn.Parameter(torch.zeros(N_LABELS, N_LABELS)) if shared else None

    def forward(self, batch):
        x, (i, j) = batch.node_features, batch.edges.unbind(1)
        heard = torch.zeros_like(x).index_add(0, i, x[j]).index_add(0, j, x[i])
        hidden = torch.tanh(self.own(x) + self.heard(heard))
        tables = self.pair(torch.cat([hidden[i], hidden[j]], dim=1)).view(-1, N_LABELS, N_LABELS)
        interaction = tables if self.table is None else self.table
        return Potentials(self.unary(hidden), interaction, batch.edges, batch.node_ptr, batch.edge_ptr)


@pytest.fixture
def chains():
    return make_chains(30, 6, N_LABELS, noise=1.0)


@pytest.fixture
def network(chains):
    torch.manual_seed(0)
    return GraphNetwork(chains[0][0].node_features.shape[1])


@pytest.mark.parametrize("shared", [False, True])
def test_a_graph_network_is_trained_as_a_copy(chains, shared):
    torch.manual_seed(0)
    network = GraphNetwork(chains[0][0].node_features.shape[1], shared=shared)
    before = [parameter.clone() for parameter in network.parameters()]
    svm = StructuralSVM(BatchModel(network), max_iter=15, C=100.0).fit(*chains)
    assert svm.score(*chains) > 0.8
    assert svm.history_[-1]["hinge"] < 0.5 * svm.history_[0]["hinge"]
    assert all(torch.equal(one, other) for one, other in zip(before, network.parameters(), strict=True))
    assert clone(svm).get_params()["max_iter"] == 15
    potentials = svm.potentials(chains[0][:2])
    assert potentials[1].unary.shape == (6, N_LABELS)
    assert potentials[1].tables.shape == (5, N_LABELS, N_LABELS)


def test_void_nodes_stay_in_the_graph_that_the_network_sees(chains, network):
    X, Y = chains
    Y = [np.where(np.arange(6) == n % 6, -1, y) for n, y in enumerate(Y)]
    assert make(StructuralSVM, unary=BatchModel(network), **FAST).fit(X, Y).score(X, Y) >= 0


def test_files_need_the_model_again(chains, network, tmp_path):
    svm = make(StructuralSVM, unary=BatchModel(network), **FAST).fit(*chains)
    svm.save(tmp_path / "svm")
    with pytest.raises(
        ValueError, match=r"was saved with \['unary'\] given as Python objects: pass them to load again"
    ):
        StructuralSVM.load(tmp_path / "svm")
    loaded = StructuralSVM.load(tmp_path / "svm", unary=BatchModel(network))
    for one, other in zip(loaded.predict(chains[0]), svm.predict(chains[0]), strict=True):
        assert one.tolist() == other.tolist()


class Wrong(nn.Module):
    def __init__(self, give):
        super().__init__()
        self.weight, self.give = nn.Parameter(torch.zeros(())), give

    def forward(self, batch):
        return self.give(batch, self.weight)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda _, weight: weight, "the model must give Potentials for a GraphBatch, got Parameter"),
        (
            lambda batch, weight: Potentials(weight.expand(4, 3), weight.expand(2, 3, 3), batch.edges),
            r"the model's unary factor must return values of shape \(4, 2\), got \(4, 3\)",
        ),
        (
            lambda batch, weight: Potentials(weight.expand(4, 2), weight.expand(2, 2, 2), batch.edges),
            "the model must give potentials with the node_ptr of the batch",
        ),
    ],
)
def test_models_that_give_something_else_are_refused(give, message):
    X = [Graph([[0.0], [1.0]], [[0, 1]])] * 2
    with pytest.raises(ValueError, match=message):
        StructuralSVM(BatchModel(Wrong(give)), batch_size=2).fit(X, [[0, 1]] * 2)


def test_what_is_no_module_is_refused():
    with pytest.raises(ValueError, match=r"module must be an nn\.Module, got 'gnn'"):
        BatchModel("gnn")


def test_a_model_cannot_be_pretrained(chains, network):
    with pytest.raises(ValueError, match="pretrain must be 0 with a BatchModel"):
        make(StructuralSVM, unary=BatchModel(network), trainer__pretrain=1, **FAST).fit(*chains)
