"""Linear factors as one weight vector: products, sums and loss-augmented passes against the model itself."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from linear_problems import every_labelling, hinge, linear_problem, psi
from oracles import score

from neuralfactors.graph_batch import GraphBatch

SEEDS = st.integers(0, 2**16)


def scores(problem, n, Z):
    """g(x, z) of sample n by the model, as it stands, for every labelling of Z."""
    graph, _ = problem.samples.labelled(n)
    with torch.no_grad():
        p = problem.model(GraphBatch.from_graphs([graph], torch.float64))
    return np.array([float(score(p.unary, p.interaction, p.edges, z)) for z in Z])


@given(seed=SEEDS, bias=st.booleans())
def test_products_are_differences_of_scores(seed, bias):
    problem = linear_problem(seed, bias=bias, void=True)
    problem.w[:] = np.random.default_rng(seed).normal(size=problem.w.shape)
    for n in range(len(problem)):
        sample, Z = problem.sample(n), every_labelling(problem, n)
        true = scores(problem, n, sample.y[None])
        np.testing.assert_allclose(problem.products(sample, Z, problem.w), true - scores(problem, n, Z), atol=1e-9)


@given(seed=SEEDS)
def test_sums_are_adjoint_to_products(seed):
    problem, rng = linear_problem(seed), np.random.default_rng(seed)
    n = int(rng.integers(len(problem)))
    sample, Z = problem.sample(n), every_labelling(problem, n)
    coefficients, vector = rng.normal(size=len(Z)), rng.normal(size=problem.w.shape)
    total = np.zeros_like(vector)
    problem.add_(total, sample, Z, coefficients)
    assert total @ vector == pytest.approx(coefficients @ problem.products(sample, Z, vector))
    np.testing.assert_array_equal(psi(problem, n, sample.y), 0)


@given(seed=SEEDS, weights=st.booleans(), void=st.booleans())
def test_passes_find_the_most_violated(seed, weights, void):
    problem = linear_problem(seed, weights=weights, void=void)
    problem.w[:] = np.random.default_rng(seed).normal(size=problem.w.shape)
    found = problem.most_violated(range(len(problem)))
    assert found.hinge == pytest.approx(sum(hinge(problem, n) for n in range(len(problem))))
    assert found.optimal == len(problem)
    assert found.gap == pytest.approx(0, abs=1e-9)
    for n, z in enumerate(found.z):
        sample = problem.sample(n)
        alone = problem.most_violated_of(sample)
        for labelling in (z, alone):
            row = labelling[None]
            value = problem.losses(sample, row) - problem.products(sample, row, problem.w)
            assert value[0] == pytest.approx(hinge(problem, n))


def test_losses_weigh_nodes_and_classes():
    problem = linear_problem(3, weights=True)
    sample = problem.sample(0)
    wrong = (sample.y + 1) % 3
    graph, y = problem.samples.labelled(0)
    expected = (problem.class_weight[y] * graph.node_weight).sum()
    assert problem.losses(sample, np.stack([sample.y, wrong])) == pytest.approx([0, expected])


def test_the_model_sees_the_weights_at_once():
    problem = linear_problem(0)
    assert sum(p.numel() for p in problem.model.parameters()) == len(problem.w)
    problem.w[:] = 7.0
    assert all((parameter == 7).all() for parameter in problem.model.parameters())
    problem.w += 1.0
    assert all((parameter == 8).all() for parameter in problem.model.parameters())
