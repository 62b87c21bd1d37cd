"""What potentials are made of: entries of tables, graphs of rows, checks."""

import pytest
import torch

from neuralfactors._core.score_tensors import (
    check_lists,
    check_pointers,
    distinct_tables,
    graph_numbers,
    joint_labels,
    to_summands,
)


def test_joint_labels_count_the_last_node_fastest():
    assert joint_labels(torch.tensor([2, 1]), torch.tensor([[0, 1], [1, 0]]), 3).tolist() == [7, 5]


def test_graph_numbers():
    assert graph_numbers(torch.tensor([0, 2, 2, 3])).tolist() == [0, 0, 2]


def test_tables_that_all_edges_share_are_one():
    table, edges = torch.rand(3, 3), torch.zeros(5, 2, dtype=torch.int64)
    for given in (table, table[None], table.expand(5, 3, 3)):
        torch.testing.assert_close(distinct_tables(given, edges), table[None])
    for given in (torch.rand(5, 3, 3), table.expand(4, 3, 3)):
        assert distinct_tables(given, edges) is given


@pytest.mark.parametrize("pointers", [[0, 3], [1, 4], [0, 3, 2, 4], [], [[0, 4]]])
def test_pointers_must_divide_all_rows(pointers):
    with pytest.raises(ValueError, match="node_ptr must be int64, start at 0, not decrease and end at the 4 rows"):
        check_pointers(torch.tensor(pointers, dtype=torch.int64), "node_ptr", 4, "unary")


def test_only_half_precision_changes():
    assert [to_summands(torch.zeros(1, dtype=t)).dtype for t in (torch.float16, torch.float32, torch.float64)] == [
        torch.float32,
        torch.float32,
        torch.float64,
    ]


@pytest.mark.parametrize(
    ("unary", "interaction", "edges", "message"),
    [
        ([[0.0, 1.0]], [], torch.zeros(0, 2), "must be sequences of Tensors"),
        ([torch.zeros(2)] * 2, [], torch.tensor([[0, 1]]), "a table for each of the 1 edges, got 0"),
        ([torch.zeros(2)] * 2, [torch.eye(2)], torch.tensor([[0, 2]]), r"node numbers from 0 to 1, got \[0, 2\]"),
    ],
)
def test_lists_that_do_not_fit_are_refused(unary, interaction, edges, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_lists(unary, interaction, edges)
