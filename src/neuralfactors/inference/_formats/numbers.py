"""The numbers of a text file, parsed at once; a line is looked up only when there is something wrong with it."""

import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import FileFormatError

_PATTERNS = {"f": rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", "i": rb"[+-]?\d+"}
_NAMES = {"f": "a number", "i": "a whole number"}
_LARGEST_WHOLE = 2**53  # beyond it floats skip whole numbers
_LARGEST_INTEGER = b"%d" % np.iinfo(np.int64).max
_SHOWN = 30  # characters of a bad word


class Numbers:
    """The numbers of a file in order, and a place in it up to which they have been read.

    Attributes
    ----------
    values : ndarray of shape (n,)
        All numbers, of the type given.
    position : int
        Index of the next number to be read.

    Examples
    --------
    >>> numbers = Numbers(Path("a.txt"), b"2 0.5 1.5", np.float64)
    >>> numbers.whole("the number of entries", low=0), numbers.take(2, "entries")
    (2, array([0.5, 1.5]))
    """

    def __init__(self, path: Path, text: bytes, dtype: type[np.float64] | type[np.int64], hint: str = "") -> None:
        self.path = path
        self.position = 0
        self._text = text
        self.values = self._parse(np.dtype(dtype), hint)

    @property
    def left(self) -> int:
        """How many numbers have not been read yet."""
        return len(self.values) - self.position

    def take(self, n: int, what: str) -> NDArray[Any]:
        """The next `n` numbers."""
        self.require(n, what)
        self.position += n
        return self.values[self.position - n : self.position]

    def require(self, n: int, what: str) -> None:
        """Refuse a file that has fewer than `n` numbers left."""
        if n > self.left:
            missing = f"{what} (expected {n}, got {max(0, self.left)})"
            raise self._error_at(f"the file ends too early: numbers are missing at {missing}", len(self._text.rstrip()))

    def whole(self, what: str, low: int, high: int | None = None) -> int:
        """The next number, which must be a whole one from `low` to `high`."""
        return int(self.wholes(1, what, low, high)[0])

    def wholes(self, n: int, what: str, low: int, high: int | None = None) -> NDArray[np.int64]:
        """The next `n` numbers, which must be whole ones from `low` to `high`."""
        start = self.position
        return self.check_wholes(self.take(n, what), start + np.arange(n), what, low, high)

    def check_wholes(
        self, numbers: NDArray[Any], places: NDArray[np.int64], what: str, low: int, high: int | None = None
    ) -> NDArray[np.int64]:
        """Numbers as integers; refused where they, at `places`, are not whole or not from `low` to `high`."""
        most = _LARGEST_WHOLE if high is None else high
        wrong = (numbers < low) | (numbers > most) | (numbers != np.floor(numbers))
        if wrong.any():
            place, end = int(places[wrong].min()), "2**53" if high is None else high
            raise self.error(f"{what} must be a whole number from {low} to {end}, got {self.word(place)}", place)
        return numbers.astype(np.int64)

    def finish(self, what: str) -> None:
        """Refuse what comes after the last number that was expected."""
        if self.left:
            message = f"the file should end after {what}, but {self.word(self.position)} follows"
            raise self.error(message, self.position)

    def word(self, place: int) -> str:
        """How a number is written in the file."""
        return _shown(self._token(place).group())

    def words(self) -> Iterator[str]:
        """How all numbers are written in the file."""
        return (token.group().decode("ascii") for token in re.finditer(rb"\S+", self._text))

    def has(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the pattern is anywhere in the text."""
        return pattern.search(self._text) is not None

    def error(self, message: str, place: int) -> FileFormatError:
        """The error that says `message` of the line in which the number at `place` stands."""
        return self._error_at(message, self._token(place).start())

    def _error_at(self, message: str, offset: int) -> FileFormatError:
        line = self._text.count(b"\n", 0, offset) + 1
        return FileFormatError(f"{self.path}, line {line}: {message}")

    def _token(self, place: int) -> re.Match[bytes]:
        return next(itertools.islice(re.finditer(rb"\S+", self._text), place, None))

    def _parse(self, dtype: np.dtype[Any], hint: str) -> NDArray[Any]:
        """All numbers of the text; a word that is none, or not finite, is refused with its line."""
        if self._text.isspace() or not self._text:  # of which numpy makes a -1
            return np.zeros(0, dtype)
        try:
            with warnings.catch_warnings():
                # Before numpy 2.3 what cannot be parsed is no error but a warning.
                warnings.filterwarnings("error", "string or file could not be read", DeprecationWarning)
                values = np.fromstring(self._text, dtype, sep=" ")
        except (ValueError, DeprecationWarning):
            raise self._misspelt(dtype.kind, hint) from None
        if dtype.kind == "i":
            self._refuse_misread(values, hint)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            place = int(wrong[0])
            raise self.error(f"numbers must be finite, but {self.word(place)} is not", place)
        return values

    def _refuse_misread(self, values: NDArray[np.int64], hint: str) -> None:
        """Refuse what numpy reads without complaint: a sign alone, as 0, and too large a number, as the largest."""
        alone = re.search(rb"(?<!\S)[+-](?!\S)", self._text)
        if alone:
            raise self._error_at(f"{_shown(alone.group())} is not {_NAMES['i']}{hint}", alone.start())
        large = re.finditer(rb"\S{19,}", self._text) if (values == np.iinfo(np.int64).max).any() else ()
        for word in large:
            digits = word.group().lstrip(b"+-0")
            if (len(digits), digits) > (19, _LARGEST_INTEGER):
                message = f"whole numbers must be below 2**63, got {_shown(word.group())}"
                raise self._error_at(message, word.start())

    def _misspelt(self, kind: str, hint: str) -> FileFormatError:
        bad = re.search(rb"(?<!\S)(?!(?:%b)(?!\S))\S+" % _PATTERNS[kind], self._text)
        if bad is None:
            return FileFormatError(f"{self.path} contains something other than numbers")
        return self._error_at(f"{_shown(bad.group())} is not {_NAMES[kind]}{hint}", bad.start())


def split_first_word(text: bytes) -> tuple[str, bytes]:
    """The first word, and the text with blanks in its place, so that all else keeps its line.

    >>> split_first_word(b"MARKOV 2")
    ('MARKOV', b'       2')
    """
    word = text.split(None, 1)[0]
    start = text.index(word)
    return word.decode("ascii"), text[:start] + b" " * len(word) + text[start + len(word) :]


def _shown(word: bytes) -> str:
    text = word.decode("ascii")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
