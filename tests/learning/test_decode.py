"""Decoder: from potentials of any kind to labels with what is known of them, by enumeration and by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import graphs_of, random_potentials

from neuralfactors import Potentials
from neuralfactors.learning import Decoder
from neuralfactors.learning._decode import Decoded, clamp_labelled, decode, make_problem, node_scores, problem_of


@pytest.mark.parametrize("seed", range(3))
def test_exact_agrees_with_enumeration(seed):
    potentials, _ = random_potentials(seed, sizes=(4, 1, 5))
    exact, enumerated = Decoder("exact")(potentials), Decoder("exhaustive")(potentials)
    assert exact.labels.tolist() == enumerated.labels.tolist()
    assert exact.optimal.all()
    np.testing.assert_allclose(exact.score, enumerated.score, rtol=1e-6)
    np.testing.assert_allclose(exact.bound, enumerated.score, rtol=1e-4)


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_a_batch_of_no_graphs(method):
    no_edges, start = torch.zeros((0, 2), dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    found = Decoder(method)(Potentials(torch.zeros(0, 3), torch.zeros(0, 3, 3), no_edges, start, start))
    assert found.labels.dtype == torch.int64
    assert found.optimal.dtype == torch.bool
    assert len(found.labels) == len(found.score) == len(found.bound) == len(found.optimal) == 0


@given(seed=st.integers(0, 2**16), order=st.sampled_from([2, 3]), method=st.sampled_from(["auto", "trws", "icm"]))
def test_what_is_said_of_labels_holds(seed, order, method):
    potentials, _ = random_potentials(seed, order=order)
    found, best = Decoder(method)(potentials), Decoder("exhaustive")(potentials)
    torch.testing.assert_close(found.score, potentials.score(found.labels))
    slack = 1e-6 * (1 + best.score.abs())
    assert (found.score <= best.score + slack).all()
    assert (found.bound >= best.score - slack).all()
    torch.testing.assert_close(found.score[found.optimal], best.score[found.optimal])
    assert (found.within_tol | ~found.optimal).all()
    assert (found.gap >= 0).all()


@given(seed=st.integers(0, 2**16))
def test_a_batch_is_its_graphs(seed):
    potentials, _ = random_potentials(seed, sizes=(3, 1, 4))
    labels = Decoder("exhaustive")(potentials).labels
    alone = [decode(potentials.graph(g), "exhaustive") for g in range(potentials.n_graphs)]
    assert labels.tolist() == torch.cat(alone).tolist()


def test_training_is_rougher_and_knows_the_fine_one():
    decoder = Decoder("trws", tol=1e-5, max_iter=7)
    rough = decoder.for_training()
    assert (rough.tol, rough.max_iter, rough.method) == (600 * 1e-5, 7, "trws")
    assert rough.fine() is decoder
    assert decoder.fine() is decoder


def test_arguments_make_the_same_decoder():
    decoder = Decoder("bp", 1e-3, 9, 1, np.random.default_rng(5))
    arguments = decoder.arguments()
    assert arguments[:4] == ("bp", 1e-3, 9, 1)
    assert isinstance(arguments[4], int)
    potentials, _ = random_potentials(4)
    assert torch.equal(Decoder(*arguments)(potentials).labels, Decoder(*arguments)(potentials).labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method must be one of .*, got 'magic'"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Decoder(**options)(random_potentials(0)[0])


def test_labels_have_the_shape_that_potentials_were_given():
    rows, table = torch.randn(2, 4, 3), torch.randn(3, 3)
    assert decode(Potentials.chain(rows, table)).shape == (2, 4)
    assert decode(Potentials.grid(torch.randn(2, 4, 5, 3), table)).shape == (2, 4, 5)


def test_what_is_known_travels_as_tensors():
    found = Decoder()(random_potentials(1)[0])
    back = Decoded.from_tensors(*found.to_tensors())
    for name in ("labels", "score", "bound", "optimal", "within_tol"):
        assert torch.equal(getattr(back, name), getattr(found, name))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.float64])
def test_potentials_of_any_type_are_decoded(dtype):
    unary = torch.tensor([[0, 3], [2, 0], [0, 1]]).to(dtype)
    potentials = Potentials(unary, torch.zeros(2, 2, 2, dtype=dtype), torch.tensor([[0, 1], [1, 2]]))
    assert problem_of(potentials).unary.dtype == (np.float64 if dtype in (torch.int64, torch.float64) else np.float32)
    assert Decoder()(potentials).labels.tolist() == [1, 0, 1]


def test_pointers_may_lie_in_memory_with_gaps():
    node_ptr, edge_ptr = torch.tensor([0, 7, 2, 7, 4])[::2], torch.tensor([0, 7, 1, 7, 2])[::2]
    potentials = Potentials(torch.eye(4, 2), torch.zeros(2, 2, 2), torch.tensor([[0, 1], [2, 3]]), node_ptr, edge_ptr)
    assert Decoder()(potentials).labels.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("order", [2, 3])
def test_tables_of_more_than_two_nodes_become_factors(order):
    potentials, _ = random_potentials(3, order=order)
    problem = problem_of(potentials)
    counts = len(problem.edges), len(problem.factors.ptr) - 1
    assert counts == ((len(potentials.edges), 0) if order == 2 else (0, len(potentials.edges)))


def test_one_table_of_three_nodes_stands_for_all_edges():
    rng = np.random.default_rng(0)
    unary, table = rng.normal(size=(4, 2)), rng.normal(size=(1, 2, 2, 2))
    edges, node_ptr, edge_ptr = np.array([[0, 1, 2], [1, 2, 3]]), np.array([0, 4]), np.array([0, 2])
    shared = make_problem(unary, table, edges, node_ptr, edge_ptr)
    apart = make_problem(unary, np.repeat(table, 2, axis=0), edges, node_ptr, edge_ptr)
    decoder = Decoder("exhaustive")
    assert torch.equal(decoder.decode(shared).labels, decoder.decode(apart).labels)


@given(seed=st.integers(0, 2**16))
def test_scores_of_nodes_bound_what_each_label_can_reach(seed):
    potentials, _ = random_potentials(seed, sizes=(4,))
    scores, bound = node_scores(potentials), None
    best = Decoder("exhaustive")(potentials)
    assert scores.shape == tuple(potentials.unary.shape)
    for node in range(len(potentials.unary)):
        reached = []
        for label in range(potentials.n_labels):
            y = torch.full((len(potentials.unary),), -1)
            y[node] = label
            reached.append(float(Decoder("exhaustive")(clamp_labelled(potentials, y)).score))
        # The label that the best labelling takes loses nothing by it, and no label loses more than its score says.
        assert max(reached) == pytest.approx(float(best.score))
        assert (np.array(reached) <= float(best.score) + 1e-9).all()
        bound = Decoder()(potentials).bound
        assert (np.array(reached) <= float(bound) + scores[node] + 1e-4 * (1 + abs(float(bound)))).all()


@given(seed=st.integers(0, 2**16))
def test_known_labels_are_kept_and_the_others_are_best(seed):
    potentials, y = random_potentials(seed, sizes=(4, 3))
    known = torch.where(torch.arange(len(y)) % 2 == 0, y, -1)
    labels = Decoder("exhaustive")(clamp_labelled(potentials, known)).labels
    assert torch.equal(labels[known >= 0], y[known >= 0])
    for unary, interaction, edges, nodes in graphs_of(potentials):
        rows = unary.clone()
        for node, label in enumerate(known[nodes].tolist()):
            if label >= 0:
                rows[node, torch.arange(rows.shape[1]) != label] = -torch.inf
        alone = decode(Potentials(rows, interaction, edges), "exhaustive")
        torch.testing.assert_close(
            Potentials(unary, interaction, edges).score(labels[nodes]),
            Potentials(unary, interaction, edges).score(alone),
        )
