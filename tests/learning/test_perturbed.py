"""The perturbed loss and marginals beside what they estimate; their noise."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import graphs_of, labelings, random_potentials, score

from neuralfactors import Potentials
from neuralfactors.learning import CRFLoss, Decoder, PerturbedLoss, perturbed_marginals


def test_the_perturbed_loss_bounds_the_likelihood():
    potentials, y = random_potentials(3, sizes=(4,))
    likelihood = CRFLoss()(potentials, y)
    perturbed = PerturbedLoss(400, decoder=Decoder("exhaustive"))(potentials, y)
    assert likelihood < perturbed < likelihood + 2


def test_without_noise_it_is_the_perceptron():
    potentials, y = random_potentials(3)
    best = max(float(score(u, t, e, z)) for u, t, e, _ in [next(graphs_of(potentials))] for z in labelings(len(u), 3))
    value = PerturbedLoss(1, sigma=0.0, reduction="none")(potentials, y)[0]
    assert float(value) == pytest.approx(best - float(potentials.score(y)[0]))


@pytest.mark.parametrize("void", [False, True])
def test_the_gradient_is_the_difference_of_frequencies(void):
    potentials, y = random_potentials(2, sizes=(4,))
    if void:
        y[1] = -1
    potentials.unary.requires_grad_()
    PerturbedLoss(50, random_state=4)(potentials, y).backward()
    gradient = potentials.unary.grad
    torch.testing.assert_close(gradient.sum(dim=1), torch.zeros(4, dtype=torch.float64))
    assert (gradient[0].gather(0, y[:1]) <= 0).all()
    frequencies = 50 * gradient
    torch.testing.assert_close(frequencies, frequencies.round())


def test_equal_seeds_draw_equal_noise_and_every_call_draws_its_own():
    potentials, y = random_potentials(2)
    first, second = PerturbedLoss(random_state=1), PerturbedLoss(random_state=1)
    values = [float(first(potentials, y)), float(first(potentials, y))]
    assert values == [float(second(potentials, y)), float(second(potentials, y))]
    assert values[0] != values[1]


def test_perturbed_marginals_are_near_the_true_ones():
    potentials, _ = random_potentials(5, sizes=(4, 2), scale=0.5)
    found, true = perturbed_marginals(potentials, 2000), potentials.marginals()
    assert set(found.status) == {"approximation"}
    assert (found.nodes - true.nodes).abs().max() < 0.1
    torch.testing.assert_close(found.edges.flatten(1).sum(dim=1), torch.ones(len(potentials.edges)).double())
    assert (found.log_partition > true.log_partition - 0.05).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_counts_all_samples(dtype):
    potentials, _ = random_potentials(5, sizes=(4, 2), scale=0.5)
    half = replace(potentials, unary=potentials.unary.to(dtype), interaction=potentials.interaction.to(dtype))
    single = replace(half, unary=half.unary.float(), interaction=half.interaction.float())
    for name in ("nodes", "edges", "log_partition"):
        found, expected = (getattr(perturbed_marginals(p, 2100), name) for p in (half, single))
        torch.testing.assert_close(found, expected)


def test_numbers_of_samples_and_noise_are_checked():
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        PerturbedLoss(0)
    with pytest.raises(ValueError, match="sigma must be a finite number"):
        PerturbedLoss(sigma=-1.0)


@given(seed=st.integers(0, 2**16))
def test_shares_of_labels_and_of_pairs_agree(seed):
    potentials, _ = random_potentials(seed, sizes=(3, 2))
    found = perturbed_marginals(potentials, 7, decoder=Decoder("exhaustive"), random_state=seed)
    torch.testing.assert_close(found.nodes.sum(dim=1), torch.ones(5).double())
    shares = 7 * found.nodes
    torch.testing.assert_close(shares, shares.round())
    for (i, j), table in zip(potentials.edges.tolist(), found.edges, strict=True):
        torch.testing.assert_close(table.sum(dim=1), found.nodes[i])
        torch.testing.assert_close(table.sum(dim=0), found.nodes[j])


def test_without_noise_every_prediction_is_the_best():
    potentials, _ = random_potentials(3)
    best = Decoder("exhaustive")(potentials)
    found = perturbed_marginals(potentials, 3, sigma=0.0, decoder=Decoder("exhaustive"))
    assert found.nodes.argmax(dim=1).tolist() == best.labels.tolist()
    assert set(found.nodes.flatten().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(found.log_partition, best.score)


@given(seed=st.integers(0, 2**16), shift=st.floats(-100, 100))
def test_a_constant_score_changes_no_loss(seed, shift):
    potentials, y = random_potentials(seed, sizes=(4,))
    moved = potentials.with_unary(potentials.unary + shift)
    losses = [float(PerturbedLoss(5, decoder=Decoder("exhaustive"))(p, y)) for p in (potentials, moved)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)


@given(seed=st.integers(0, 2**16))
def test_a_margin_raises_the_loss(seed):
    potentials, y = random_potentials(seed, sizes=(4,))
    plain, wide = (
        float(PerturbedLoss(9, decoder=Decoder("exhaustive"), margin=margin)(potentials, y)) for margin in (0.0, 1.0)
    )
    assert plain <= wide + 1e-9 <= plain + 4 + 2e-9


def test_tables_may_lie_in_memory_in_any_order():
    potentials, _ = random_potentials(1, sizes=(3, 2))
    for tables in (potentials.interaction.transpose(1, 2), potentials.interaction[0].t()):
        views = [Potentials(potentials.unary, t, potentials.edges) for t in (tables, tables.contiguous())]
        found, expected = (perturbed_marginals(view, 5, decoder=Decoder("exhaustive")) for view in views)
        torch.testing.assert_close(found.edges, expected.edges)
        assert found.edges.sum() == pytest.approx(len(potentials.edges))


def test_interactions_of_three_nodes_are_counted():
    potentials, _ = random_potentials(3, order=3)
    found = perturbed_marginals(potentials, 4)
    assert found.edges.shape == potentials.tables.shape
    for nodes, table in zip(potentials.edges.tolist(), found.edges, strict=True):
        torch.testing.assert_close(table.sum(dim=(1, 2)), found.nodes[nodes[0]])
