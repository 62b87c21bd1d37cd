"""Numbers of a text file: each word is read as Python reads it, or refused by name and line."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference import read_wcsp
from neuralfactors.inference._formats.numbers import Numbers, split_first_word

PLACE = Path("some.txt")
WORDS = st.text("0123456789+-.eE_xinfa", min_size=1, max_size=8)
BLANKS = st.text(" \n\t\r", min_size=1, max_size=3)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
WHOLE = re.compile(r"[+-]?\d+")


def floats(text):
    return Numbers(PLACE, text, np.float64)


def wholes(text):
    return Numbers(PLACE, text, np.int64)


@given(
    words=st.lists(st.one_of(WORDS, st.floats(width=64).map(repr), st.integers().map(str)), max_size=6), data=st.data()
)
@pytest.mark.parametrize(("read", "pattern", "kind"), [(floats, NUMBER, float), (wholes, WHOLE, int)])
def test_words_are_read_as_python_reads_them_or_refused(read, pattern, kind, words, data):
    text = "".join(word + data.draw(BLANKS) for word in words)
    values = [kind(word) if pattern.fullmatch(word) else None for word in words]
    fine = [v is not None and (np.isfinite(v) if kind is float else abs(v) < 2**63) for v in values]
    if all(fine):
        assert read(text.encode()).values.tolist() == values
        return
    with pytest.raises(FileFormatError, match=r"\Asome.txt, line \d+: [^\n]*\Z") as caught:
        read(text.encode())
    line = int(re.search(r"line (\d+)", str(caught.value)).group(1))
    bad = [word for word, good in zip(words, fine, strict=True) if not good]
    named = [word for word in bad if repr(word[:30])[:-1] in str(caught.value)]
    assert any(word in text.split("\n")[line - 1] for word in named)


@pytest.mark.parametrize("word", ["-", "+", "99999999999999999999", "-9223372036854775809", "9" * 5000])
def test_a_whole_number_is_not_misread(write, word):
    """Numpy takes a sign alone for 0 and too large a number for the largest; a cost would change unnoticed."""
    path = write(f"name 1 2 1 100\n2\n1 0 0 1\n0 {word}\n", "problem.wcsp")
    with pytest.raises(FileFormatError, match=rf"line 4: .*{re.escape(word[:30])}"):
        read_wcsp(path)


def test_the_largest_and_smallest_whole_numbers_are_read():
    assert wholes(b"9223372036854775807 -9223372036854775807 +007").values.tolist() == [2**63 - 1, 1 - 2**63, 7]


@pytest.mark.parametrize("text", [b"", b" \n\t "])
def test_no_numbers(text):
    numbers = floats(text)
    assert (numbers.left, numbers.values.tolist()) == (0, [])
    numbers.finish("nothing")
    with pytest.raises(FileFormatError, match=r"ends too early.*the sizes \(expected 1, got 0\)"):
        numbers.take(1, "the sizes")


def test_numbers_are_taken_one_after_the_other():
    numbers = floats(b"2 0.5 1.5\n7\n")
    assert numbers.whole("a count", 0) == 2
    assert numbers.take(2, "entries").tolist() == [0.5, 1.5]
    assert (numbers.left, numbers.position) == (1, 3)
    with pytest.raises(FileFormatError, match=r"line 2: .*end after the entries, but '7'"):
        numbers.finish("the entries")
    assert numbers.take(1, "more").tolist() == [7.0]
    numbers.finish("the entries")


def test_a_refused_request_takes_nothing():
    numbers = floats(b"1 2 3")
    with pytest.raises(FileFormatError, match="expected 4, got 3"):
        numbers.take(4, "entries")
    assert numbers.position == 0


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [(b"1.5", 0, None), (b"-1", 0, None), (b"4", 0, 3), (b"0", 1, None), (b"1e16", 0, None), (b"-0.5", -1, 1)],
)
def test_whole_numbers_within_limits(text, low, high):
    with pytest.raises(FileFormatError, match=rf"line 1: a count .*{low}.*'{re.escape(text.decode())}'"):
        floats(text).whole("a count", low, high)


def test_the_first_bad_number_is_told():
    with pytest.raises(FileFormatError, match=r"line 3: a size .* got '9'"):
        floats(b"1 2\n\n9 8 -1").wholes(5, "a size", 1, 7)


def test_a_long_word_is_cut():
    with pytest.raises(FileFormatError) as caught:
        floats(b"z" * 10_000)
    assert len(str(caught.value)) < 100


@given(word=st.text("ABC", min_size=1, max_size=5), before=st.text(" \n"), rest=st.text(" \n123", max_size=9))
def test_the_first_word_leaves_all_else_in_its_place(word, before, rest):
    text = f"{before}{word} {rest}".encode()
    first, other = split_first_word(text)
    assert first == word
    assert len(other) == len(text)
    assert other.count(b"\n") == text.count(b"\n")
    assert other.split() == rest.encode().split()
