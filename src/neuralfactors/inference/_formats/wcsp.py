"""WCSP files, toulbar2's classic format: tables of costs, whose sum is to be minimal."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._formats.compression import read_text
from neuralfactors.inference._formats.numbers import Numbers, split_first_word
from neuralfactors.inference._formats.problem import MapProblem, Tables, assemble, check_size
from neuralfactors.inference._formats.scopes import Scopes, read_scopes

_HINT = "; only cost functions given as lists of tuples can be read, not those given by a keyword"


@dataclass(frozen=True)
class _Functions:
    """Where the parts of all cost functions stand among the numbers of a file."""

    scopes: NDArray[np.int64]  # (F,)
    orders: NDArray[np.int64]  # (F,), numbers of variables
    counts: NDArray[np.int64]  # (F,), numbers of tuples; 0 if they are those of a shared function
    tuples: NDArray[np.int64]  # (F,)
    sources: NDArray[np.int64]  # (F,), the function whose tuples count: the function itself, or a shared one

    @property
    def defaults(self) -> NDArray[np.int64]:
        """(F,), the places of the default costs."""
        return self.scopes + self.orders


def read_wcsp(path: str | os.PathLike[str]) -> MapProblem:
    """The problem in a WCSP file, plain or compressed (gzip, xz, bzip2).

    The score of a labelling is its cost with the sign changed. A tuple whose cost is at least the upper bound in the
    header is forbidden. The bound does not limit the sum: labellings whose costs add up to more are allowed.

    Parameters
    ----------
    path : path
        The file. Cost functions are lists of tuples, shared ones included; those given by a keyword, such as
        `salldiff`, are refused.

    Returns
    -------
    MapProblem
        unary, interaction, edges, factors: `solve(*read_wcsp(path))`.

    Raises
    ------
    ValueError
        One sentence that names the file and, where there is one, the line.

    Examples
    --------
    >>> import tempfile
    >>> from neuralfactors.inference import solve
    >>> with tempfile.NamedTemporaryFile("w", suffix=".wcsp") as file:
    ...     file.write("example 2 2 2 100  2 2  1 0 0 1  0 7  2 0 1 3 2  0 0 1  1 1 100")
    ...     file.flush()
    ...     problem = read_wcsp(file.name)
    63
    >>> result = solve(*problem)
    >>> result.labels, result.score
    (array([1, 0]), -3.0)
    """
    path = Path(path)
    _, text = split_first_word(read_text(path))  # the name of the problem
    numbers = Numbers(path, text, np.int64, _HINT)
    n_nodes = numbers.whole("the number of variables", 1)
    numbers.whole("the largest number of labels", 1)  # which the sizes say again
    n_functions = numbers.whole("the number of cost functions", 0)
    top = int(numbers.take(1, "the upper bound")[0])
    sizes = numbers.wholes(n_nodes, "a number of labels", 1)
    functions = _find_functions(numbers, n_functions, n_nodes)
    scopes = read_scopes(numbers, functions.scopes, functions.orders, n_nodes)
    check_size(path, sizes, scopes)
    return assemble(sizes, _tables(numbers, sizes, scopes, functions, top))


def _find_functions(numbers: Numbers, n_functions: int, n_nodes: int) -> _Functions:
    """The places of all cost functions: only after reading one is it known where the next begins."""
    numbers.require(3 * n_functions, "the cost functions")
    values = numbers.values.data
    rows: list[tuple[int, ...]] = []
    shared: list[int] = []
    for k in range(n_functions):
        numbers.require(1, "a cost function")
        start = numbers.position
        order = abs(values[start])  # of a function to be shared it is negative
        if order > n_nodes:
            numbers.whole("the number of variables in a scope", 0, n_nodes)  # tells what is wrong
        numbers.require(order + 3, "a cost function")
        place = start + order + 2
        count = values[place]
        if count < -len(shared):
            raise numbers.error(f"there is no shared cost function {-count} above", place)
        source = k if count >= 0 else rows[shared[-count - 1]][-1]
        rows.append((start + 1, order, max(0, count), place + 1, source))
        if values[start] < 0:
            shared.append(k)
        length = order + 3 + max(0, count) * (order + 1)
        numbers.require(length, "the tuples of a cost function")
        numbers.position += length
    numbers.finish("the last cost function")
    return _Functions(*np.array(rows, np.int64).reshape(-1, 5).T)


def _tables(
    numbers: Numbers, sizes: NDArray[np.int64], scopes: list[Scopes], functions: _Functions, top: int
) -> Iterator[tuple[Scopes, Tables]]:
    """The scores of all cost functions, those over as many variables together."""
    for group in scopes:
        sources = _sources(numbers, sizes, group, functions)
        shapes = sizes[group.nodes]
        entries = shapes.prod(axis=1)
        begin = np.cumsum(entries) - entries
        flat = np.repeat(_scores(numbers, functions.defaults[group.members], top), entries)
        rows, places = _tuples(functions, group)
        labels = _labels(numbers, places, shapes[rows])
        steps = np.cumprod(shapes[:, ::-1], axis=1)[:, ::-1] // shapes  # from a label of an axis to the next
        flat[begin[rows] + (labels * steps[rows]).sum(axis=1)] = _scores(numbers, places + group.order, top)
        tables = [flat[k : k + n].reshape(shape) for k, n, shape in zip(begin, entries, shapes.tolist(), strict=True)]
        for k in np.flatnonzero(sources != np.arange(len(sources))):
            tables[k][...] = tables[sources[k]]
        alike = len(shapes) > 0 and (shapes == shapes[0]).all()
        yield group, flat.reshape(-1, *shapes[0]) if alike else tables


def _tuples(functions: _Functions, group: Scopes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every tuple of the functions of a group: the function's row in the group, and where the tuple stands."""
    counts = functions.counts[group.members]
    rows = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, functions.tuples[group.members][rows] + within * (group.order + 1)


def _labels(numbers: Numbers, places: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The labels of the tuples at `places`, whose variables have `sizes` (n, Q) labels."""
    columns = places[:, None] + np.arange(sizes.shape[1])
    labels: NDArray[np.int64] = numbers.values[columns]
    wrong = (labels < 0) | (labels >= sizes)
    if wrong.any():
        place = int(columns[wrong].min())
        raise numbers.error(f"the label {numbers.word(place)} is not a label of its variable", place)
    return labels


def _scores(numbers: Numbers, places: NDArray[np.int64], top: int) -> NDArray[np.float64]:
    """The scores that stand for the costs at `places`."""
    costs = numbers.values[places]
    if (costs < 0).any():
        place = int(places[costs < 0].min())
        raise numbers.error(f"costs must not be negative, got {numbers.word(place)}", place)
    return np.where(costs >= top, -np.inf, 0.0 - costs)


def _sources(numbers: Numbers, sizes: NDArray[np.int64], group: Scopes, functions: _Functions) -> NDArray[np.int64]:
    """The rows of a group whose tuples count: each its own, or that of a shared function, which must be alike."""
    sources = functions.sources[group.members]
    rows = np.searchsorted(group.members, sources).clip(max=len(sources) - 1)
    shapes, defaults = sizes[group.nodes], numbers.values[functions.defaults]
    alike = (group.members[rows] == sources) & (shapes == shapes[rows]).all(axis=1)
    alike &= defaults[group.members] == defaults[sources]
    if not alike.all():
        place = int(functions.scopes[group.members[~alike][0]])
        raise numbers.error(
            "the default cost and the numbers of labels must be those of the shared cost function", place
        )
    return rows
