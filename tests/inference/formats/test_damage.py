"""Damaged files get one sentence that names the file and, where there is one, the line."""

import gzip
import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_files import READERS, UAI, refusal

from neuralfactors.inference import MapProblem, read_uai

WCSP = "name 3 3 3 99\n2 3 2\n1 0 5 1\n1 7\n2 1 2 0 2\n0 0 4\n2 1 6\n3 0 1 2 1 1\n1 2 1 99\n"


# Beginnings and endings that several messages share.
EARLY = "the file ends too early: numbers are missing at "
N_NODES = "{}, line 2: the number of variables must be a whole number from 1 to 2**53, got "
ORDER = "the number of variables in a scope must be a whole number from 0 to 3, got "
NODE = "a variable of a scope must be a whole number from 0 to 2, got "
SIZE = "a number of labels must be a whole number from 1 to 2**53, got "
TOO_LARGE = " GiB as arrays, more than the 4 GiB that are allowed"
KEYWORD = (
    " is not a whole number; only cost functions given as lists of tuples can be read, not those given by a keyword"
)
SHARED = "{}, line 5: the default cost and the numbers of labels must be those of the shared cost function"
WIDE = " ".join(map(str, range(99)))  # a scope

# The whole text, or what to replace by what.
UAI_DAMAGES = [
    ("", "{} is empty"),
    (" \n\n", "{} is empty"),
    ("c nothing\n", "{} contains nothing but comments"),
    ("\n\nLOGIC\n3", "{}, line 3: the first word must be MARKOV or BAYES, got 'LOGIC'"),
    ("MÄRKOV 1 2 0", "{} is not a text file"),
    (("2 3 2", "2 3 2\0"), "{} is not a text file"),
    ("MARKOV", "{}, line 1: " + EARLY + "the number of variables (expected 1, got 0)"),
    ("MARKOV\n0\n0\n", N_NODES + "'0'"),
    ("MARKOV\n1.5\n", N_NODES + "'1.5'"),
    ("MARKOV\n-3\n", N_NODES + "'-3'"),
    ("MARKOV\n1e300\n", N_NODES + "'1e300'"),
    ("MARKOV\n1000000000000\n2 2\n", "{}, line 3: " + EARLY + "a number of labels (expected 1000000000000, got 2)"),
    (("2 3 2", "2 0 2"), "{}, line 3: " + SIZE + "'0'"),
    (("2 3 2", "2 x 2"), "{}, line 3: 'x' is not a number"),
    (("2 3 2", "2 3.2.1 2"), "{}, line 3: '3.2.1' is not a number"),
    (("2 3 2", "2 " + "y" * 99 + " 2"), "{}, line 3: '" + "y" * 30 + "…' is not a number"),
    (
        ("\n3\n1 0", "\n9000000000\n1 0"),
        "{}, line 16: " + EARLY + "the scopes of the factors (expected 9000000000, got 32)",
    ),
    (("1 0\n", "-1 0\n"), "{}, line 5: " + ORDER + "'-1'"),
    (("1 0\n", "1.5 0\n"), "{}, line 5: " + ORDER + "'1.5'"),
    (("1 0\n", "4 0\n"), "{}, line 5: " + ORDER + "'4'"),
    (("2 1 2\n", "2 1 3\n"), "{}, line 6: " + NODE + "'3'"),
    (("2 1 2\n", "2 1 0.5\n"), "{}, line 6: " + NODE + "'0.5'"),
    (("3 0 1 2", "3 0 2 0"), "{}, line 7: the scope [0, 2, 0] contains a variable twice"),
    ("MARKOV 2 2 2 1 2 0", "{}, line 1: " + EARLY + "a scope (expected 3, got 2)"),
    (("\n6\n", "\n5\n"), "{}, line 11: the table of factor 1 must have 6 entries, got '5'"),
    (
        f"MARKOV 99 {'9 ' * 99}\n1 99 {WIDE}\n3 1 1 1",
        "{}, line 3: the table of factor 0 must have 2.95126654306527e+94 entries, got '3'",
    ),
    (("3 4", "3 -4"), "{}, line 13: entries of tables must not be negative, got '-4'"),
    (("3 4", "3 nan"), "{}, line 13: numbers must be finite, but 'nan' is not"),
    (("3 4", "3 1e999"), "{}, line 13: numbers must be finite, but '1e999' is not"),
    (("3 4", "3 4,0"), "{}, line 13: '4,0' is not a number"),
    ((" 0.5\n", "\n"), "{}, line 16: " + EARLY + "the tables (expected 23, got 22)"),
    ((" 0.5\n", " 0.5\n17 18\n"), "{}, line 17: the file should end after the last table, but '17' follows"),
    ("MARKOV 1 999999999999999 0", "{} needs 7.45e+06" + TOO_LARGE),
    (f"MARKOV 99 {'1 ' * 99} 1 99 {WIDE} 1 0.5", "{} has a factor over 99 variables, but the limit is 30"),
]
WCSP_DAMAGES = [
    ("", "{} is empty"),
    ("name", "{}, line 1: " + EARLY + "the number of variables (expected 1, got 0)"),
    ("name\n0 1 0 1", N_NODES + "'0'"),
    ("name 3 3", "{}, line 1: " + EARLY + "the number of cost functions (expected 1, got 0)"),
    (("name 3", "name 1000000000000"), "{}, line 9: " + EARLY + "a number of labels (expected 1000000000000, got 30)"),
    (("3 99", "4000000000 99"), "{}, line 9: " + EARLY + "the cost functions (expected 12000000000, got 27)"),
    (("2 3 2\n", "2 -3 2\n"), "{}, line 2: " + SIZE + "'-3'"),
    (("2 1 2 0 2", "4 1 2 0 2"), "{}, line 5: " + ORDER + "'4'"),
    (("2 1 2 0 2", "2 1 3 0 2"), "{}, line 5: " + NODE + "'3'"),
    (("2 1 2 0 2", "2 1 1 0 2"), "{}, line 5: the scope [1, 1] contains a variable twice"),
    (("2 1 2 0 2", "2 1 2 0 -1"), "{}, line 5: there is no shared cost function 1 above"),
    (("2 1 2 0 2", "2 1 2 -2 2"), "{}, line 5: costs must not be negative, got '-2'"),
    (("0 0 4", "0 2 4"), "{}, line 6: the label '2' is not a label of its variable"),
    (("0 0 4", "-1 0 4"), "{}, line 6: the label '-1' is not a label of its variable"),
    (("0 0 4", "0 0 -4"), "{}, line 6: costs must not be negative, got '-4'"),
    (("0 0 4", "0 0 4.5"), "{}, line 6: '4.5'" + KEYWORD),
    (("3 0 1 2 1 1\n1 2 1 99", "3 0 1 2 -1 salldiff var 1"), "{}, line 8: 'salldiff'" + KEYWORD),
    (("1 0 5 1\n1 7\n2 1 2 0 2\n0 0 4\n2 1 6\n", "-1 0 5 1\n1 7\n1 1 5 -1\n"), SHARED),
    (("1 0 5 1\n1 7\n2 1 2 0 2\n0 0 4\n2 1 6\n", "-1 0 5 1\n1 7\n1 2 6 -1\n"), SHARED),
    (("1 0 5 1\n1 7\n2 1 2 0 2\n0 0 4\n2 1 6\n", "-1 0 5 1\n1 7\n2 1 2 5 -1\n"), SHARED),
    (("1 2 1 99\n", "1 2 1\n"), "{}, line 9: " + EARLY + "the tuples of a cost function (expected 10, got 9)"),
    (("1 1\n1 2 1 99\n", "1"), "{}, line 8: " + EARLY + "a cost function (expected 6, got 5)"),
    (("1 2 1 99\n", "1 2 1 99\n5"), "{}, line 10: the file should end after the last cost function, but '5' follows"),
    (("99\n2", "99\n1099511627776"), "{} needs 6.55e+04" + TOO_LARGE),
]


def damaged(whole, damage):
    if isinstance(damage, str):
        return damage.encode()
    assert damage[0] in whole
    return whole.replace(*damage, 1).encode()


@pytest.mark.parametrize(
    ("kind", "whole", "damage", "message"),
    [("uai", UAI, *row) for row in UAI_DAMAGES] + [("wcsp", WCSP, *row) for row in WCSP_DAMAGES],
)
def test_damages(tmp_path, kind, whole, damage, message):
    path = tmp_path / f"bad.{kind}"
    path.write_bytes(damaged(whole, damage))
    assert refusal(kind, path) == message


def test_the_whole_files_are_fine(tmp_path):
    for kind, whole in (("uai", UAI), ("wcsp", WCSP)):
        (tmp_path / kind).write_text(whole)
        problem = READERS[kind](tmp_path / kind)
        assert [len(part) for part in problem] == [3, 1, 1, 1]


def test_what_is_not_a_file(tmp_path):
    assert refusal("uai", tmp_path) == "{} must be a regular file"
    with pytest.raises(FileNotFoundError):
        read_uai(tmp_path / "nowhere.uai")


def test_enormous_counts_cost_nothing(tmp_path):
    path = tmp_path / "bad.uai"
    began = time.process_time()
    for text in (
        "MARKOV 9007199254740991 2",
        "MARKOV 1 2 9007199254740991 1 0",
        "MARKOV 2 2 2 1 2 0 1 9007199254740991",
    ):
        path.write_text(text)
        refusal("uai", path)
    assert time.process_time() - began < 1


def test_a_bad_word_in_a_large_file_is_found(tmp_path):
    path = tmp_path / "large.uai"
    table = "0.123456789\n" * 200_000
    path.write_text(f"MARKOV\n1\n200000\n1\n1 0\n200000\n{table[:-12]}0.12E\n")
    assert refusal("uai", path) == "{}, line 200006: '0.12E' is not a number"


@given(data=st.data())
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("kind", "whole"), [("uai", UAI), ("wcsp", WCSP)])
def test_bytes_that_are_cut_off_flipped_or_repeated(tmp_path_factory, data, kind, whole, packed):
    """Whatever happens to a file, there is a problem or a sentence."""
    content = bytearray(gzip.compress(whole.encode(), mtime=0) if packed else whole.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["cut", "flip", "digit", "repeat"])):
            case "cut":
                del content[max(1, place) :]
            case "flip":
                content[place] ^= 1 << data.draw(st.integers(0, 7))
            case "digit":
                content[place] = data.draw(st.sampled_from(b"0123456789.-+eE \nn"))
            case "repeat":
                content += content[place:]
    path = tmp_path_factory.mktemp("fuzz") / "file"
    path.write_bytes(content)
    try:
        problem = READERS[kind](path)
    except ValueError as error:
        sentence = str(error)
        assert re.fullmatch(re.escape(str(path)) + r"[, ][^\n]+", sentence), sentence
    else:
        assert isinstance(problem, MapProblem)
        assert not any(np.isnan(table).any() for table in (*problem.unary, *problem.interaction))
        assert (problem.edges < len(problem.unary)).all()
