"""Tables whose nodes all have as many labels, one for each edge or one for all, against loops."""

import pytest
import torch

from neuralfactors._core.equal_tables import EqualTables


def case(order, *, shared):
    generator = torch.Generator().manual_seed(order)
    edges = torch.randint(0, 4, (5, order), generator=generator)
    values = torch.randn(1 if shared else 5, *[3] * order, generator=generator, dtype=torch.float64)
    return EqualTables(edges, 3), values, edges


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_entries_are_those_that_the_labels_name(order, shared):
    tables, values, edges = case(order, shared=shared)
    y = torch.tensor([2, 0, 1, 1])
    joint = tables.joint_labels(y)
    taken = tables.take(values, joint[:, None])[:, 0]
    for e, nodes in enumerate(edges.tolist()):
        assert taken[e] == values[0 if shared else e][tuple(y[nodes].tolist())]
    torch.testing.assert_close(tables.take(tables.padded(values), joint[:, None])[:, 0], taken)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_parts_and_masks(order, shared):
    tables, values, _ = case(order, shared=shared)
    assert torch.equal(tables.between(values, 1, 3), tables.padded(values)[1:3])
    if not shared:
        inside = torch.tensor([True, False, True, True, False])
        masked = tables.masked(values, inside)
        assert torch.equal(masked[inside], values[inside])
        assert not masked[~inside].any()


def test_parts_are_copies():
    tables, values, _ = case(2, shared=True)
    part = tables.between(values, 0, 2)
    part.zero_()
    assert values.any()


def test_a_gradient_is_that_of_the_table_which_all_share():
    tables, values, _ = case(2, shared=True)
    joint = tables.joint_labels(torch.tensor([0, 1, 2, 0]))[:, None]
    torch.autograd.gradcheck(lambda v: tables.take(v, joint), values.requires_grad_())


def test_without_edges_there_is_nothing():
    tables, values = EqualTables.checked(torch.zeros(2, 3), torch.zeros(0, 3, 3), torch.zeros(0, 2).long())
    assert tables.joint_labels(torch.tensor([0, 1])).tolist() == []
    assert tables.take(values, torch.zeros(0, 1).long()).shape == (0, 1)
    assert tables.padded(values).shape == tables.between(values, 0, 0).shape == (0, 3, 3)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"interaction must have shape \(1, 3, 3\), got \(2, 3, 3\)"):
        EqualTables.checked(torch.zeros(2, 3), torch.zeros(2, 3, 3), torch.tensor([[0, 1]]))
