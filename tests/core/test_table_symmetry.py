"""Tables that are symmetric or antisymmetric by feature: the projection, and factors that keep to it."""

import pytest
import torch

from neuralfactors import Network
from neuralfactors._core.layers import Workspace
from neuralfactors._core.table_symmetry import mirror_signs, project

SIGNS = [1, -1, 0]


@pytest.fixture
def factor():
    """Linear, with parameters that do not have the symmetry."""
    built = Network(symmetric=SIGNS).build(3, 4, order=2).double()
    torch.nn.init.normal_(built.weight)
    torch.nn.init.normal_(built.bias)
    return built


def test_projection_gives_the_nearest_tables_of_the_kind():
    tables = torch.randn(16, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = project(tables, torch.tensor(SIGNS)).view(4, 4, 3)
    torch.testing.assert_close(found[..., 0], found[..., 0].T)
    torch.testing.assert_close(found[..., 1], -found[..., 1].T)
    assert (found.view(16, 3)[:, 2] == tables[:, 2]).all()
    rest = tables - found.view(16, 3)  # at right angles to the tables of the kind
    assert (rest * found.view(16, 3)).sum(0).abs().max() < 1e-12


def test_reversing_an_edge_transposes_its_table():
    factor = Network(symmetric=[1, -1]).build(2, 3, order=2).double()
    torch.nn.init.normal_(factor.weight)
    torch.nn.init.normal_(factor.bias)
    there, back = torch.tensor([[0.3, 0.7], [0.3, -0.7]], dtype=torch.float64)
    torch.testing.assert_close(factor(there[None]).view(3, 3), factor(back[None]).view(3, 3).T)


def test_evaluation_and_gradients_agree_with_autograd(factor):
    features = torch.randn(5, 3, dtype=torch.float64)
    plus, minus = torch.tensor([1, 2, 3, 4, 5]), torch.tensor([4, 4, 0, 15, 6])
    with torch.no_grad():
        torch.testing.assert_close(factor.evaluate(features, Workspace(), "edges"), factor(features))
    for _ in range(2):  # gradients add up
        factor.backward_contrast(features, plus, minus)
    found = [p.grad.clone() for p in factor.parameters()]
    factor.zero_grad()
    rows = torch.arange(5)
    (2 * (factor(features)[rows, plus] - factor(features)[rows, minus]).sum()).backward()
    for mine, p in zip(found, factor.parameters(), strict=True):
        torch.testing.assert_close(mine, p.grad)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symmetric": [1, 2], "n_features": 2}, r"1, -1 or 0 for each of 2 features, got \[1, 2\]"),
        ({"symmetric": [1], "n_features": 2}, "for each of 2 features"),
        ({"symmetric": [1], "n_features": 1, "order": 3}, "needs a linear factor on edges of two nodes"),
        ({"symmetric": [1], "n_features": 1, "hidden": (4,)}, r"got hidden=\(4,\) on 2 nodes: use symmetric=True"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        mirror_signs(**{"order": 2, "hidden": (), **options})
