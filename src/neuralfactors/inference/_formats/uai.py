"""UAI files: the tables of a Markov or Bayesian network, whose product is to be maximal."""

import os
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference._formats.compression import read_text
from neuralfactors.inference._formats.evidence import read_evidence
from neuralfactors.inference._formats.numbers import Numbers, split_first_word
from neuralfactors.inference._formats.problem import MapProblem, Tables, assemble, check_size
from neuralfactors.inference._formats.scopes import Scopes, read_scopes

_COMMENT = re.compile(rb"^c(?:[ \t].*)?$", re.MULTILINE)
_ENTRIES = 2**20  # copied at a time
_SMALLEST = np.finfo(np.float64).tiny  # below it floats lose digits, and in the end become 0
_MAYBE_SMALLER = re.compile(rb"[eE]-0*(?:29\d|[3-9]\d\d|\d{4,})|0{290}")


def read_uai(path: str | os.PathLike[str], evidence: str | os.PathLike[str] | None = None) -> MapProblem:
    """The problem in a UAI file, MARKOV or BAYES, plain or compressed (gzip, xz, bzip2).

    Scores are natural logarithms of the table entries; what has the entry 0 is forbidden. Constants are in the row of
    the first node, so that the score of a labelling is the logarithm of the product of the entries it selects.

    Parameters
    ----------
    path : path
        The file. Lines that begin with the word "c" are comments.
    evidence : path, default=None
        An evidence file: the number of observed variables, then pairs of variable and label; before them there may be
        a line with the number of samples, which must be 1. All other labels of these nodes are forbidden; nodes keep
        their numbers.

    Returns
    -------
    MapProblem
        unary, interaction, edges, factors: `solve(*read_uai(path))`.

    Raises
    ------
    ValueError
        One sentence that names the file and, where there is one, the line.

    Examples
    --------
    >>> import tempfile
    >>> from neuralfactors.inference import solve
    >>> with tempfile.NamedTemporaryFile("w", suffix=".uai") as file:
    ...     file.write("MARKOV 2  2 2  2  1 0  2 0 1   2 0.3 0.7   4 2.0 1.0 1.0 0.0")
    ...     file.flush()
    ...     problem = read_uai(file.name)
    60
    >>> result = solve(*problem)
    >>> result.labels, round(float(np.exp(result.score)), 3)
    (array([1, 0]), 0.7)
    """
    path = Path(path)
    numbers = Numbers(path, _body(path), np.float64)
    sizes = numbers.wholes(numbers.whole("the number of variables", 1), "a number of labels", 1)
    scopes = _scopes(numbers, len(sizes))
    heads = _heads(numbers, sizes, scopes)
    check_size(path, sizes, scopes)
    problem = assemble(sizes, _tables(_logarithms(numbers), sizes, scopes, heads))
    if evidence is not None:
        nodes, labels = read_evidence(Path(evidence), sizes)
        for node, label in zip(nodes.tolist(), labels.tolist(), strict=True):
            row = problem.unary[node]
            row[np.arange(len(row)) != label] = -np.inf
    return problem


def _body(path: Path) -> bytes:
    """The text without comments and without its first word, which says that these are tables of a network."""
    text = read_text(path)
    if text.startswith(b"c") or b"\nc" in text:
        text = _COMMENT.sub(b"", text)
    if not text or text.isspace():
        raise FileFormatError(f"{path} contains nothing but comments")
    word, body = split_first_word(text)
    if word not in ("MARKOV", "BAYES"):
        line = text.count(b"\n", 0, text.index(word.encode())) + 1
        raise FileFormatError(f"{path}, line {line}: the first word must be MARKOV or BAYES, got {word[:30]!r}")
    return body


def _scopes(numbers: Numbers, n_nodes: int) -> list[Scopes]:
    """The scopes of all factors: each begins with the number of its nodes, so only one after the other can be found."""
    n_factors = numbers.whole("the number of factors", 0)
    numbers.require(n_factors, "the scopes of the factors")
    values = numbers.values.data
    starts, orders = [], []
    for _ in range(n_factors):
        numbers.require(1, "a scope")
        order = values[numbers.position]
        if not 0 <= order <= n_nodes or order % 1:
            numbers.whole("the number of variables in a scope", 0, n_nodes)  # tells what is wrong
        numbers.require(1 + int(order), "a scope")
        starts.append(numbers.position + 1)
        orders.append(int(order))
        numbers.position += 1 + int(order)
    return read_scopes(numbers, np.array(starts, np.int64), np.array(orders, np.int64), n_nodes)


def _heads(numbers: Numbers, sizes: NDArray[np.int64], scopes: list[Scopes]) -> NDArray[np.int64]:
    """Where the tables begin: the places of their numbers of entries. The rest of the file is checked here."""
    entries = np.zeros(sum(len(group.members) for group in scopes))
    for group in scopes:
        entries[group.members] = sizes[group.nodes].astype(np.float64).prod(axis=1)
    start = numbers.position
    ends = start + np.cumsum(1 + entries)  # in floating point: of a damaged file they can be beyond all integers
    heads = np.concatenate([[start], ends[:-1]])[: len(ends)]
    within = heads[heads < len(numbers.values)].astype(np.int64)
    wrong = np.flatnonzero(numbers.values[within] != entries[: len(within)])
    if len(wrong):
        k, place = wrong[0], int(within[wrong[0]])
        message = f"the table of factor {k} must have {entries[k]:.15g} entries, got {numbers.word(place)}"
        raise numbers.error(message, place)
    numbers.take(int(min(ends[-1] - start, 1e18)) if len(ends) else 0, "the tables")
    negative = np.flatnonzero(numbers.values[start : numbers.position] < 0)
    if len(negative):
        place = start + int(negative[0])
        raise numbers.error(f"entries of tables must not be negative, got {numbers.word(place)}", place)
    numbers.finish("the last table")
    return within


def _tables(
    values: NDArray[np.float64], sizes: NDArray[np.int64], scopes: list[Scopes], heads: NDArray[np.int64]
) -> Iterator[tuple[Scopes, Tables]]:
    """All tables of `values`, those of factors over as many nodes together."""
    for group in scopes:
        tables: list[NDArray[np.float64]] = [np.zeros(0)] * len(group.members)
        alike: list[NDArray[np.float64]] = []
        for shape, rows in _by_shape(sizes[group.nodes]):
            alike.append(_read_alike(values, heads[group.members[rows]] + 1, shape))
            for k, table in zip(rows.tolist(), alike[-1], strict=True):
                tables[k] = table
        yield group, alike[0] if len(alike) == 1 else tables


def _read_alike(values: NDArray[np.float64], starts: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Tables of one shape, which begin at `starts`."""
    size = int(np.prod(shape))
    tables = np.empty((len(starts), size))
    for part in np.array_split(np.arange(len(starts)), max(1, tables.size // _ENTRIES)):
        tables[part] = values[starts[part, None] + np.arange(size)]
    return tables.reshape(-1, *shape)


def _logarithms(numbers: Numbers) -> NDArray[np.float64]:
    """Those of all numbers of the file, in their place; exact too of what is too small for a float."""
    small = {place: float(Decimal(word).ln()) for place, word in _small_words(numbers)}
    with np.errstate(divide="ignore"):  # of 0, which forbids
        logs: NDArray[np.float64] = np.log(numbers.values, out=numbers.values)
    logs[list(small)] = list(small.values())
    return logs


def _small_words(numbers: Numbers) -> Iterator[tuple[int, str]]:
    """Places and words of positive numbers below the smallest that a float holds in full."""
    if not numbers.has(_MAYBE_SMALLER):
        return
    for place, word in enumerate(numbers.words()):
        if numbers.values[place] < _SMALLEST and Decimal(word) > 0:
            yield place, word


def _by_shape(shapes: NDArray[np.int64]) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """The distinct rows of `shapes`, each with the indices of its rows."""
    if shapes.shape[1] == 0:
        yield (), np.arange(len(shapes))
        return
    distinct, kind, counts = np.unique(shapes, axis=0, return_inverse=True, return_counts=True)
    rows = np.split(np.argsort(kind.ravel(), kind="stable"), np.cumsum(counts)[:-1])
    yield from zip(map(tuple, distinct.tolist()), rows, strict=True)
