"""The restricted backward against autograd through everything."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from neuralfactors import Factor, FactorModel, Graph, GraphBatch
from neuralfactors.learning import Decoder, StructuredHingeLoss, StructuredPerceptronLoss
from neuralfactors.learning._hinge_subgradient import (
    TOLD_LABELS,
    TOLD_NODES,
    Clock,
    Totals,
    accumulate,
    draw_hints,
)


def problem(seed=0, n_labels=3):
    rng = np.random.default_rng(seed)
    graphs = []
    for size in (5, 1, 7):
        edges = np.array([(i, j) for i in range(size) for j in range(i + 1, size) if rng.random() < 0.5]).reshape(-1, 2)
        graphs.append(Graph(rng.normal(size=(size, 4)), edges, rng.normal(size=(len(edges), 2)), rng.random(size)))
    batch = GraphBatch.from_graphs(graphs, torch.float64)
    return batch, torch.from_numpy(rng.integers(n_labels, size=batch.n_nodes))


def model_of(kind, seed=0):
    hidden = {"linear": (), "neural": (6,), "deep": (6, 5)}.get(kind, ())
    unary, interaction = Factor(4, 3, hidden=hidden), Factor(2, 3, order=2, hidden=hidden, symmetric=kind == "deep")
    if kind == "modules":
        unary, interaction = nn.Linear(4, 3), nn.Sequential(nn.Linear(2, 5), nn.ELU(), nn.Linear(5, 9))
    model = FactorModel(unary, interaction, 3).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    return model


@pytest.mark.parametrize("augment", [True, False])
@pytest.mark.parametrize("kind", ["linear", "neural", "deep", "modules"])
@pytest.mark.parametrize("seed", range(2))
def test_restricted_backward_equals_dense_autograd(kind, seed, augment):
    batch, y = problem(seed)
    model, class_weight = model_of(kind, seed), torch.tensor([1.0, 0.3, 2.0], dtype=torch.float64)
    if augment:
        dense = StructuredHingeLoss(reduction="sum", class_weight=class_weight)(model(batch), y, batch.node_weight)
    else:
        dense = StructuredPerceptronLoss(reduction="sum")(model(batch), y)
    wanted = torch.autograd.grad(dense, list(model.parameters()), allow_unused=True)
    totals = Totals()
    accumulate(model, batch, y, Decoder(), totals, Clock(totals.seconds), class_weight=class_weight, augment=augment)
    assert totals.loss == pytest.approx(float(dense.detach()))
    assert totals.graphs == 3
    for parameter, gradient in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_models_that_mix_rows_go_through_autograd():
    batch, y = problem()
    unary = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
    model = FactorModel(unary, Factor(2, 3, order=2).double(), 3)
    totals = Totals()
    accumulate(model, batch, y, Decoder(), totals, Clock(totals.seconds))
    assert unary[0].weight.grad.abs().sum() > 0


class Centred(nn.Linear):
    """A module of the user's in which rows meet."""

    def forward(self, features):
        values = super().forward(features)
        return values - values.mean(dim=0)


class Chancy(nn.Linear):
    """A module of the user's that draws its own random numbers."""

    def forward(self, features):
        return nn.functional.dropout(super().forward(features), 0.5)


class CentredTanh(nn.Module):
    def forward(self, features):
        return torch.tanh(features - features.mean(dim=0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Centred(4, 3),
        lambda: Chancy(4, 3),
        lambda: nn.Sequential(Chancy(4, 5), nn.Tanh(), nn.Linear(5, 3)),
        lambda: nn.Sequential(nn.Linear(4, 5), nn.RReLU(), nn.Linear(5, 3)),
        lambda: Factor(4, 3, hidden=(5,), activation=CentredTanh),
    ],
)
def test_gradients_of_modules_unknown_to_us_are_those_of_autograd(make):
    batch, y = problem(1)
    torch.manual_seed(0)
    model = FactorModel(make(), Factor(2, 3, order=2), 3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    torch.manual_seed(1)
    dense = StructuredHingeLoss(reduction="sum")(model(batch), y, batch.node_weight)
    wanted = torch.autograd.grad(dense, list(model.parameters()))
    totals = Totals()
    torch.manual_seed(1)
    accumulate(model, batch, y, Decoder(), totals, Clock(totals.seconds))
    for parameter, gradient in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_satisfied_margins_leave_no_gradient():
    batch, y = problem()
    model = FactorModel(nn.Identity(), None, 3)
    model.unary = nn.Linear(4, 3).double()
    features = nn.functional.one_hot(y, 4).double() * 100
    batch = GraphBatch(features, batch.edges, batch.edge_features, batch.node_ptr, batch.edge_ptr)
    with torch.no_grad():
        model.unary.weight.copy_(torch.eye(3, 4))
    totals = Totals()
    accumulate(model, batch, y, Decoder(), totals, Clock(totals.seconds))
    assert totals.loss == 0
    assert totals.differing == 0
    assert model.unary.weight.grad is None


@pytest.mark.parametrize("kind", ["linear", "neural"])
def test_sparse_features_have_the_gradient_of_dense_ones(kind):
    gradients = []
    for layout in (torch.Tensor.to_dense, torch.Tensor.to_sparse_csr):
        batch, y = problem()
        model, totals = model_of(kind), Totals()
        batch = replace(batch, node_features=layout(batch.node_features))
        accumulate(model, batch, y, Decoder(), totals, Clock(totals.seconds))
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(("n_labelled", "wanted"), [(500, TOLD_LABELS * 500), (4000, TOLD_NODES * 10_000)])
def test_hints_are_a_part_of_the_labels(n_labelled, wanted):
    y = torch.where(torch.arange(10_000) < n_labelled, torch.arange(10_000) % 3, -1)
    torch.manual_seed(0)
    hints = draw_hints(y)
    told = hints >= 0
    assert torch.equal(hints[told], y[told])
    assert int(told.sum()) == pytest.approx(wanted, rel=0.1)


def test_inference_keeps_to_hints(monkeypatch):
    batch, y = problem()
    model, totals = model_of("neural"), {}
    y[1:9:2] = -1
    monkeypatch.setattr("neuralfactors.learning._hinge_subgradient.draw_hints", torch.clone)
    for few in (False, True):
        totals[few] = Totals()
        options = {"void": "complete", "few_labels": few}
        accumulate(model, batch, y, Decoder(), totals[few], Clock(totals[few].seconds), **options)
    assert totals[False].differing > 0
    assert (totals[True].differing, totals[True].costs, totals[True].loss) == (0, 0, pytest.approx(0, abs=1e-9))
