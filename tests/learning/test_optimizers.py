"""Learning-rate curves and averages against their formulas."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learners import make

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import StructuralSVM, Subgradient, UnaryClassifier
from neuralfactors.learning._optimizers import (
    DUST,
    OPTIMIZERS,
    Average,
    drop_dust,
    learning_rate_factor,
    refuse_divergence,
)


def test_learning_rate_curves():
    assert learning_rate_factor("inverse", 3.0, 2.0, 10) == pytest.approx(1 / 5)
    assert learning_rate_factor("constant", 3.0, 2.0, 10) == 1.0
    assert learning_rate_factor("cosine", 1.0, 0.0, 10) == 1.0
    assert learning_rate_factor("cosine", 6.0, 0.0, 10) == pytest.approx(0.5)
    assert learning_rate_factor("cosine", 11.0, 0.0, 10) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("name", "kind"), [("sgd", "SGD"), ("adam", "Adam"), ("rmsprop", "RMSprop")])
def test_optimisers_are_those_of_torch(name, kind):
    ours, theirs = (torch.nn.Parameter(torch.arange(1.0, 5.0)) for _ in range(2))
    pairs = (ours, OPTIMIZERS[name]([ours], lr=0.1)), (theirs, getattr(torch.optim, kind)([theirs], lr=0.1))
    for parameter, optimizer in pairs:
        for step in range(3):
            optimizer.zero_grad()
            (parameter**2 * (step + 1)).sum().backward()
            optimizer.step()
    assert torch.equal(ours, theirs)
    (state, _), (expected, _) = (optimizer.state_dict().values() for _, optimizer in pairs)
    assert state.keys() == expected.keys()


def test_training_does_not_wait_for_the_compiler_of_torch():
    script = """
import sys
from neuralfactors import StructuralSVM
from neuralfactors.datasets import make_chains
StructuralSVM((4,), (4,), max_iter=2, random_state=0).fit(*make_chains(4, random_state=0))
assert "torch" in sys.modules and "torch._dynamo" not in sys.modules and "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(("kind", "weights"), [("uniform", [1, 1, 1, 1]), ("linear", [1, 2, 3, 4])])
def test_averages(kind, weights):
    iterates = [torch.tensor([float(k), math.sin(k)], dtype=torch.float64) for k in range(4)]
    average = Average(kind, [torch.full((2,), 99.0, dtype=torch.float64)])
    for iterate in iterates:
        average.update([iterate])
    expected = sum(w * iterate for w, iterate in zip(weights, iterates, strict=True)) / sum(weights)
    torch.testing.assert_close(average.values[0], expected)


def test_dust_becomes_zero_and_nothing_else_changes():
    values = torch.tensor([0.0, 1e-40, -1e-21, 2 * DUST, -0.5], requires_grad=True)
    drop_dust([values])
    assert torch.equal(values.detach(), torch.tensor([0.0, 0.0, 0.0, 2 * DUST, -0.5]))


def test_weights_that_only_the_regulariser_moves_never_become_denormal():
    X, Y = make_chains(6, 4, 2)
    X = [Graph(graph.node_features, graph.edges, np.zeros((graph.n_edges, 2))) for graph in X]
    trainer = Subgradient(optimizer="sgd", momentum=0.0, schedule="constant", learning_rate=0.5, keep="last")
    svm = StructuralSVM((), (3,), batch_size=None, max_iter=135, trainer=trainer).fit(X, Y)
    assert torch.count_nonzero(svm.model_.interaction.hidden[0].weight) == 0  # halved 135 times: 1e-41 of what it was


ADAPTIVE = ["adam", "adamw", "rmsprop", "adagrad"]


@pytest.mark.parametrize("optimizer", ADAPTIVE)
def test_the_first_step_leaves_hidden_weights_as_they_were_initialised(optimizer):
    """No loss reaches them while the output layer is zero, and of the regulariser alone a whole step would be made."""
    X, Y = make_chains(6, 4, 2)
    rate = {
        "trainer__learning_rate": 0.04,
        "trainer__schedule": "constant",
        "batch_size": None,
        "trainer__keep": "last",
    }
    start = make(
        StructuralSVM, (8,), (), trainer__optimizer="sgd", **{**rate, "trainer__learning_rate": 1e-12}, max_iter=1
    ).fit(X, Y)
    one, two = (
        make(StructuralSVM, (8,), (), trainer__optimizer=optimizer, **rate, max_iter=n).fit(X, Y) for n in (1, 2)
    )
    before, after, later = (svm.model_.unary.hidden[0].weight.detach() for svm in (start, one, two))
    torch.testing.assert_close(before, after)
    assert bool((later != after).all())


def test_adamw_adds_no_decay_to_that_of_the_objective():
    X, Y = make_chains(6, 4, 2)
    adam, adamw = (
        make(StructuralSVM, (8,), (), trainer__optimizer=name, max_iter=3).fit(X, Y) for name in ("adam", "adamw")
    )
    torch.testing.assert_close(adam.model_.state_dict(), adamw.model_.state_dict())


@pytest.mark.parametrize(
    "model",
    [
        make(StructuralSVM, (4,), (), trainer__optimizer="sgd", trainer__learning_rate=1e6, C=1e6, max_iter=5),
        make(StructuralSVM, (4,), (), trainer__learning_rate=1e38, trainer__schedule="constant", max_iter=5),
        make(UnaryClassifier, (4,), trainer__learning_rate=1e38, trainer__schedule="constant", max_iter=5),
    ],
)
def test_training_that_diverges_says_so(model):
    with pytest.raises(ValueError, match=r"training diverges: .* lower learning_rate"):
        model.fit(*make_chains(5))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e16])
def test_training_that_diverges_is_refused(value):
    fine = torch.full((3, 2), -1e14)
    refuse_divergence([fine, torch.zeros(0)])
    refuse_divergence([])
    with pytest.raises(ValueError, match="training diverges: parameters grow without bound; lower learning_rate"):
        refuse_divergence([fine, torch.tensor([0.0, value])])


@given(values=st.lists(st.floats(width=32, allow_nan=False), max_size=20))
def test_only_dust_is_dropped(values):
    before = torch.tensor(values)
    left = before.clone()
    drop_dust([left])
    assert torch.equal(left, torch.where(before.abs() <= DUST, 0.0, before))
