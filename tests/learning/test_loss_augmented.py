"""Losses and decoding under torch.compile, without graph breaks, and under torch.func: the values of plain calls."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import hinge, random_potentials

from neuralfactors import Decoder, Potentials, StructuredHingeLoss, StructuredPerceptronLoss, decode

LOSSES = [StructuredHingeLoss, StructuredPerceptronLoss]


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def values_and_gradients(function, *arguments):
    leaves = [a.detach().clone().requires_grad_() for a in arguments]
    value = function(*leaves)
    return value.detach(), *torch.autograd.grad(value.sum(), leaves)


def assert_compiles(function, *arguments, backend="aot_eager"):
    compiled = torch.compile(function, fullgraph=True, backend=backend)
    for found, expected in zip(
        values_and_gradients(compiled, *arguments), values_and_gradients(function, *arguments), strict=True
    ):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_network_and_its_loss_compile_as_one_graph(backend):
    torch.manual_seed(0)
    network, loss = torch.nn.Linear(5, 4), StructuredHingeLoss()
    x, y = torch.randn(3, 6, 5), torch.randint(4, (3, 6))

    def step(transitions):
        return loss(Potentials.chain(network(x), transitions, start=transitions[0]), y)

    assert_compiles(step, torch.randn(4, 4), backend=backend)
    assert loss.report.optimal == 1.0
    assert 0 <= loss.report.differing <= 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("void", ["drop", "complete"])
@pytest.mark.parametrize("shared", [False, True])
def test_void_nodes_and_tables_of_any_kind_compile(loss, void, shared):
    potentials, y = random_potentials(0)
    y[[1, 4]] = -1
    module = loss(void=void, reduction="none")

    def of(unary, interaction):
        rest = potentials.edges, potentials.node_ptr, potentials.edge_ptr
        return module(Potentials(unary, interaction[0] if shared else interaction, *rest), y)

    assert_compiles(of, potentials.unary, potentials.interaction)


def test_padded_chains_compile_where_torch_captures_dynamic_shapes():
    emissions, mask = torch.randn(3, 5, 2), torch.arange(5) < torch.tensor([5, 2, 1])[:, None]
    y, loss = torch.randint(2, (3, 5)), StructuredHingeLoss()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        assert_compiles(lambda e, t: loss(Potentials.chain(e, t, mask), y), emissions, torch.randn(2, 2))


def test_decoding_compiles():
    unary, table = torch.randn(2, 3, 4, 3), torch.eye(3)

    def labels(unary):
        return decode(Potentials.grid(unary, table))

    assert torch.equal(torch.compile(labels, fullgraph=True, backend="aot_eager")(unary), labels(unary))


def test_gradients_by_torch_func():
    potentials, y = random_potentials(2)
    loss = StructuredHingeLoss()

    def of(unary, interaction):
        return loss(Potentials(unary, interaction, potentials.edges, potentials.node_ptr, potentials.edge_ptr), y)

    found = torch.func.grad(of, argnums=(0, 1))(potentials.unary, potentials.interaction)
    for one, other in zip(found, values_and_gradients(of, potentials.unary, potentials.interaction)[1:], strict=True):
        torch.testing.assert_close(one, other)


def test_labels_out_of_range_are_refused_when_the_compiled_loss_runs():
    loss, emissions = StructuredHingeLoss(), torch.randn(1, 2, 3)
    compiled = torch.compile(lambda y: loss(Potentials.chain(emissions, torch.eye(3)), y), backend="aot_eager")
    with pytest.raises(ValueError, match="y must contain labels from 0 to 2, or -1 for void; got 1 to 3"):
        compiled(torch.tensor([[1, 3]]))


@given(seed=st.integers(0, 2**16), form=st.sampled_from(["(L, L)", "(1, L, L)", "expanded"]), void=st.booleans())
def test_a_shared_table_has_the_loss_and_gradient_of_its_copies(seed, form, void):
    potentials, y = random_potentials(seed, sizes=(3, 4, 1))
    y[seed % len(y)] = -1 if void else y[seed % len(y)]
    table = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    n_edges, rest = len(potentials.edges), (potentials.edges, potentials.node_ptr, potentials.edge_ptr)
    loss = StructuredHingeLoss(void="drop", reduction="sum")
    forms = {"(L, L)": lambda t: t, "(1, L, L)": lambda t: t[None], "expanded": lambda t: t.expand(n_edges, 3, 3)}

    def shared(unary, table):
        return loss(Potentials(unary, forms[form](table), *rest), y)

    def copied(unary, table):
        return loss(Potentials(unary, table.repeat(n_edges, 1, 1), *rest), y)

    for one, other in zip(
        values_and_gradients(shared, potentials.unary, table),
        values_and_gradients(copied, potentials.unary, table),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    whole = Potentials(potentials.unary, table.repeat(n_edges, 1, 1), *rest)
    torch.testing.assert_close(shared(potentials.unary, table), enumerated(whole, y))


def enumerated(potentials, y):
    """The hinge of every graph by enumeration, summed."""
    total = torch.zeros((), dtype=torch.float64)
    nodes, rows = potentials.node_ptr.tolist(), potentials.edge_ptr.tolist()
    for g in range(potentials.n_graphs):
        i, e = slice(nodes[g], nodes[g + 1]), slice(rows[g], rows[g + 1])
        own = potentials.edges[e] - nodes[g]
        total = total + hinge(potentials.unary[i], potentials.interaction[e], own, y[i], (y[i] >= 0).double())
    return total


def test_a_shared_table_of_higher_order():
    potentials, y = random_potentials(5, sizes=(4,), order=3)
    table, edges = torch.randn(3, 3, 3, dtype=torch.float64), potentials.edges
    shared, copied = (Potentials(potentials.unary, t, edges) for t in (table, table.repeat(len(edges), 1, 1, 1)))
    assert torch.equal(Decoder()(shared).labels, Decoder()(copied).labels)
    torch.testing.assert_close(StructuredHingeLoss()(shared, y), StructuredHingeLoss()(copied, y))


def test_the_gradient_of_a_shared_table_takes_no_table_an_edge():
    n_steps, n_labels = 2000, 50
    emissions, table = torch.randn(1, n_steps, n_labels), torch.randn(n_labels, n_labels, requires_grad=True)
    value = StructuredHingeLoss()(Potentials.chain(emissions, table), torch.zeros(1, n_steps, dtype=torch.int32))
    with torch.profiler.profile(profile_memory=True) as profile:
        value.backward()
    largest = max(event.cpu_memory_usage for event in profile.key_averages())
    assert largest < 100 * n_labels**2 * 4  # the gradient of 2000 tables would take 20 times as much
