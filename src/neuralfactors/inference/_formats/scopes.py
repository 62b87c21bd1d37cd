"""Which nodes the factors of a file are about, sorted by their number, so that whole arrays of them can be treated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._formats.numbers import Numbers


@dataclass(frozen=True)
class Scopes:
    """The factors of a file that are about Q nodes each."""

    members: NDArray[np.int64]  # (n,), the numbers of the factors in the file, rising
    nodes: NDArray[np.int64]  # (n, Q), in the order of the file

    @property
    def order(self) -> int:
        """Q, the number of nodes of each factor."""
        return int(self.nodes.shape[1])


def read_scopes(numbers: Numbers, starts: NDArray[np.int64], orders: NDArray[np.int64], n_nodes: int) -> list[Scopes]:
    """The scopes of all factors; that of factor k has orders[k] nodes, written from starts[k] on."""
    found = []
    for order in np.unique(orders):
        members = np.flatnonzero(orders == order)
        places = starts[members, None] + np.arange(order)
        nodes = numbers.check_wholes(numbers.values[places], places, "a variable of a scope", 0, n_nodes - 1)
        repeated = np.flatnonzero((np.diff(np.sort(nodes, axis=1), axis=1) == 0).any(axis=1))
        if len(repeated):
            k = repeated[0]
            raise numbers.error(f"the scope {nodes[k].tolist()} contains a variable twice", int(places[k, 0]))
        found.append(Scopes(members, nodes))
    return found
