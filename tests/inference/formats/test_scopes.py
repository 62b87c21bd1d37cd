"""Scopes of factors: sorted by their order, each factor found again, repeated and absent variables refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference._formats.numbers import Numbers
from neuralfactors.inference._formats.scopes import read_scopes


def scopes_of(scopes, n_nodes=6):
    """What is read of scopes that a file holds one after the other, a line each, with their order before them."""
    text = "".join(" ".join(map(str, [len(scope), *scope])) + "\n" for scope in scopes)
    orders = np.array([len(scope) for scope in scopes], np.int64)
    starts = np.cumsum(orders + 1) - orders
    return read_scopes(Numbers(Path("some.uai"), text.encode(), np.float64), starts, orders, n_nodes)


@given(scopes=st.lists(st.permutations(range(6)).flatmap(lambda p: st.integers(0, 6).map(lambda q: p[:q])), max_size=8))
def test_every_factor_is_found_again(scopes):
    groups = scopes_of(scopes)
    found = {int(k): tuple(row) for group in groups for k, row in zip(group.members, group.nodes.tolist(), strict=True)}
    assert found == {k: tuple(scope) for k, scope in enumerate(scopes)}
    assert [group.order for group in groups] == sorted({len(scope) for scope in scopes})
    assert all((np.diff(group.members) > 0).all() for group in groups)


@pytest.mark.parametrize(
    ("scopes", "message"),
    [
        ([[0, 1], [2, 2]], r"line 2: .*\[2, 2\].* twice"),
        ([[0], [1, 0, 1]], r"line 2: .*\[1, 0, 1\].* twice"),
        ([[0, 1], [1, 6]], "line 2: .*0 to 5.*'6'"),
        ([[0, -1]], "line 1: .*0 to 5.*'-1'"),
        ([[0, 1.5]], "line 1: .*'1.5'"),
    ],
)
def test_scopes_that_cannot_be(scopes, message):
    with pytest.raises(FileFormatError, match=message):
        scopes_of(scopes)
