"""UAI files written from arrays."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference._formats.compression import write_text
from neuralfactors.inference._kernel import judge
from neuralfactors.inference._validate import check_problem

_LOWEST, _HIGHEST = -708.0, 709.0  # between these exp keeps all digits


def write_uai(
    path: str | os.PathLike[str],
    unary: ArrayLike,
    interaction: ArrayLike,
    edges: ArrayLike,
    factors: Sequence[tuple[ArrayLike, ArrayLike]] = (),
) -> float:
    """Write a problem as a UAI file of type MARKOV; returns what scores in the file are short of those given.

    Table entries are exp(score), 0 where a label is forbidden. That is possible for scores from -708 to 709. From a
    table with others its largest score is subtracted, which changes the scores of all labellings by the same constant.

    Parameters
    ----------
    path : path
        The file, replaced in one step; compressed if its name ends with .gz, .xz or .bz2.
    unary : array of shape (n_nodes, n_labels), or list of vectors
        As in `solve`. Labels that are forbidden here stay so.
    interaction : array of shape (n_edges, n_labels, n_labels), or list of matrices
        As in `solve`.
    edges : array of shape (n_edges, 2)
        As in `solve`.
    factors : list of (nodes, table), default=()
        As in `solve`.

    Returns
    -------
    float
        The sum of what was subtracted: 0 if all scores are from -708 to 709.

    Raises
    ------
    ValueError
        If scores of one table are more than 708 apart: the file could not tell the lowest from forbidden ones.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_uai(Path(folder) / "pair.uai", np.log([[0.25, 0.75], [0.5, 0.5]]), np.zeros((1, 2, 2)), [[0, 1]])
    ...     print((Path(folder) / "pair.uai").read_text())
    0.0
    MARKOV
    2
    2 2
    3
    1 0
    1 1
    2 0 1
    2
    0.25 0.75
    2
    0.5 0.5
    4
    1.0 1.0 1.0 1.0
    <BLANKLINE>
    """
    problem = check_problem(unary, interaction, edges, factors=list(factors))
    n_nodes = problem.n_nodes
    if n_nodes == 0:
        raise ValueError("a UAI file needs at least one node, got none")
    judge(problem, np.zeros(n_nodes, np.int64))  # which looks at every edge and every score
    tables = problem.tables()
    offsets = [_offset(scope, table) for scope, table in tables]
    lines = ["MARKOV", str(n_nodes), _words(problem.sizes.tolist()), str(len(tables))]
    lines += [_words([len(scope), *scope]) for scope, _ in tables]
    lines += _table_lines(table - offset for offset, (_, table) in zip(offsets, tables, strict=True))
    write_text(Path(path), "\n".join(lines) + "\n")
    return float(sum(offsets))


def _offset(scope: tuple[int, ...], table: NDArray[np.float64]) -> float:
    """What to subtract from a table so that exp keeps all digits."""
    finite = table[np.isfinite(table)]
    if not finite.size or (finite.min() >= _LOWEST and finite.max() <= _HIGHEST):
        return 0.0
    if finite.max() - finite.min() > -_LOWEST:
        nodes = f"node {scope[0]}" if len(scope) == 1 else f"the nodes {', '.join(map(str, scope))}"
        raise ValueError(
            f"a UAI file cannot hold the table of {nodes}: its scores run from {finite.min():g} to {finite.max():g}, "
            f"more than {-_LOWEST:g} apart"
        )
    return float(finite.max())


def _table_lines(tables: Iterable[NDArray[np.float64]]) -> Iterator[str]:
    for table in tables:
        yield str(table.size)
        yield _words(np.exp(table).ravel().tolist())


def _words(numbers: Sequence[float]) -> str:
    return " ".join(map(repr, numbers))  # repr: no digit is lost
