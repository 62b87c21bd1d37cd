"""Evidence for UAI files: labels that were observed."""

import numpy as np
import pytest
from problem_files import SMALL_UAI, assert_same

from neuralfactors.inference import read_uai, solve


@pytest.mark.parametrize("text", ["2 0 1 2 0", "2 0 1\n2 0\n", "1\n2 0 1 2 0\n", "1 2 0 1 2 0"])
def test_evidence_fixes_labels(write, text):
    problem = read_uai(write(SMALL_UAI), write(text, "problem.uai.evid"))
    assert [np.isfinite(row).tolist() for row in problem.unary] == [[False, True], [True] * 3, [True, False]]
    assert problem.unary[0][1] == pytest.approx(np.log(0.7))
    assert solve(*problem).labels.tolist() == [1, 2, 0]


@pytest.mark.parametrize("text", ["0", "1\n0\n", "1 0"])
def test_evidence_may_be_none(write, text):
    assert_same(read_uai(write(SMALL_UAI), write(text, "e")), read_uai(write(SMALL_UAI)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n1 1 0\n0\n", "e must contain one sample of evidence, but seems to contain 2"),
        ("3\n0\n1 0 1\n0\n", "e must contain one sample of evidence, but seems to contain 3"),
        ("1 3 0", "e, line 1: an observed variable must be a whole number from 0 to 2, got '3'"),
        ("1 1 3", "e, line 1: variable 1 has the labels 0 to 2, but 3 was observed"),
        ("2 0 0\n0 0", "e, line 2: variable 0 was observed twice"),
        (
            "2 0 0",
            "e, line 1: the file ends too early: numbers are missing at the observed variables (expected 4, got 2)",
        ),
        ("1 0 0 1 1", "e, line 1: the file should end after the last observed variable, but '1' follows"),
        ("-1", "e, line 1: the number of observed variables must be a whole number from 0 to 3, got '-1'"),
        ("1 0 0.5", "e, line 1: '0.5' is not a whole number"),
        ("", "e is empty"),
    ],
)
def test_evidence_that_is_refused(write, text, message):
    path = write(text, "e")
    with pytest.raises(ValueError, match=r"\A.*\Z") as caught:
        read_uai(write(SMALL_UAI), path)
    assert str(caught.value) == str(path.parent / message)
