"""UAI evidence files: labels that were observed."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference._formats.compression import read_text
from neuralfactors.inference._formats.numbers import Numbers


def read_evidence(path: Path, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The observed nodes and their labels, among nodes with `sizes` labels."""
    text = read_text(path)
    numbers = Numbers(path, text, np.int64)
    _skip_number_of_samples(numbers, text)
    n_observed = numbers.whole("the number of observed variables", 0, len(sizes))
    start = numbers.position
    pairs = numbers.take(2 * n_observed, "the observed variables").reshape(-1, 2)
    numbers.finish("the last observed variable")
    places = start + np.arange(2 * n_observed).reshape(-1, 2)
    nodes = numbers.check_wholes(pairs[:, 0], places[:, 0], "an observed variable", 0, len(sizes) - 1)
    seen: set[int] = set()
    for k, (node, label) in enumerate(pairs.tolist()):
        if not 0 <= label < sizes[node]:
            message = f"variable {node} has the labels 0 to {sizes[node] - 1}, but {label} was observed"
            raise numbers.error(message, int(places[k, 1]))
        if node in seen:
            raise numbers.error(f"variable {node} was observed twice", int(places[k, 0]))
        seen.add(node)
    return nodes, pairs[:, 1].astype(np.int64)


def _skip_number_of_samples(numbers: Numbers, text: bytes) -> None:
    """Go past the number of samples, which files of 2008 and 2010 begin with; it must be 1.

    With it a file of one sample has an even count of numbers, without it an odd one. Only a file of several samples can
    look like one without it, and then its lines tell.
    """
    values = numbers.values.tolist()
    if _holds_samples(values[0], [line.split() for line in text.splitlines() if line.strip()]):
        raise FileFormatError(f"{numbers.path} must contain one sample of evidence, but seems to contain {values[0]}")
    if values[0] == 1 and len(values) % 2 == 0:
        numbers.position = 1


def _holds_samples(n_samples: int, lines: list[list[bytes]]) -> bool:
    """Whether the first line is a number above 1, and as many lines follow, each with as many pairs as it says."""
    first, *others = lines
    complete = all(len(words) == 1 + 2 * int(words[0]) for words in others)
    return n_samples > 1 and len(first) == 1 and len(others) == n_samples and complete
