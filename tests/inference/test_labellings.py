"""Samples and best labellings against enumeration."""

import numpy as np
import pytest
from enumeration import enumerated, grid, make_problem, scores_of_all
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors.inference import _labellings, sample, topk


def test_samples_follow_the_distribution():
    problem = make_problem(5, forbidden=0.2)
    labels = sample(*problem, n=20_000, random_state=3)
    _, nodes, _ = enumerated(*problem)
    shares = np.stack([(labels == a).mean(axis=0) for a in range(3)], axis=1)
    np.testing.assert_allclose(shares, nodes, atol=0.015)
    labellings, total = scores_of_all(*problem)
    assert {tuple(y) for y in labels.tolist()} <= {tuple(y) for y in labellings[total > -np.inf].tolist()}


def test_the_same_seed_draws_the_same_samples():
    unary, interaction, edges = make_problem(5)
    twice = (
        np.concatenate([unary, unary]),
        np.concatenate([interaction, interaction]),
        np.concatenate([edges, edges + len(unary)]),
    )
    pointers = {"node_ptr": [0, len(unary), 2 * len(unary)], "edge_ptr": [0, len(edges), 2 * len(edges)]}
    first = sample(*twice, n=50, random_state=1, n_threads=1, **pointers)
    assert (first == sample(*twice, n=50, random_state=1, n_threads=2, **pointers)).all()
    assert (first != sample(*twice, n=50, random_state=2, **pointers)).any()
    assert (first[:, : len(unary)] != first[:, len(unary) :]).any()


@given(seed=st.integers(0, 2**16), order=st.sampled_from([2, 3]), forbidden=st.sampled_from([0.0, 0.4]))
def test_topk_equals_enumeration(seed, order, forbidden):
    problem = make_problem(seed, order=order, forbidden=forbidden)
    found = topk(*problem, k=7)
    labellings, total = scores_of_all(*problem)
    best = np.sort(total[total > -np.inf])[::-1][:7]
    assert found.status.tolist() == ["optimal"]
    np.testing.assert_allclose(found.score[: len(best), 0], best, atol=1e-9)
    assert (found.score[len(best) :] == -np.inf).all()
    assert (found.labels[len(best) :] == -1).all()
    places = {tuple(y): k for k, y in enumerate(labellings.tolist())}
    chosen = [places[tuple(y)] for y in found.labels[: len(best)].tolist()]
    assert len(set(chosen)) == len(best)
    np.testing.assert_allclose(total[chosen], best, atol=1e-9)


@pytest.mark.parametrize("order", [2, 3])
def test_topk_of_large_graphs_says_that_nothing_is_proved(order):
    rng = np.random.default_rng(4)
    edges = grid(5) if order == 2 else np.stack([np.arange(23), np.arange(1, 24), np.arange(2, 25)], axis=1)
    unary, interaction = rng.standard_normal((25, 3)), rng.standard_normal((len(edges), *(3,) * order))
    rough, exact = topk(unary, interaction, edges, k=4, max_entries=20), topk(unary, interaction, edges, k=4)
    assert (rough.status[0], exact.status[0]) == ("approximate", "optimal")
    assert (np.diff(rough.score[:, 0]) <= 0).all()
    assert (rough.score <= exact.score + 1e-9).all()
    assert len({tuple(y) for y in rough.labels.tolist()}) == 4


@pytest.mark.parametrize("count", [0, 1.5, True])
def test_counts_are_positive_integers(count):
    arrays = np.zeros((2, 2)), np.zeros((1, 2, 2)), np.array([[0, 1]])
    with pytest.raises(ValueError, match="n must be a positive integer"):
        sample(*arrays, n=count)
    with pytest.raises(ValueError, match="k must be a positive integer"):
        topk(*arrays, k=count)


def test_topk_does_not_take_labels_that_it_keeps_for_a_proof(monkeypatch):
    """Where exact tables would be too large, and `solve` finds no allowed labelling, there may be one all the same."""
    monkeypatch.setattr(_labellings, "best_labels", lambda problem, **_: np.zeros(problem.n_nodes, np.int64))
    different = np.where(np.eye(3), -np.inf, 0.0)[None]
    found = topk(np.zeros((3, 3)), different, [[0, 1], [1, 2], [2, 0]], k=2, max_entries=1)
    assert found.status.tolist() == ["approximate"]
    assert (found.labels == -1).all()
    assert (found.score == -np.inf).all()
