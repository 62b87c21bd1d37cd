"""Labels of any kind become numbers and come back; integers are left alone; void stays void."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors._common.label_values import decode_labels, encode_labels, sorted_classes

VALUES = st.one_of(st.text(max_size=3), st.just(None))


@given(Y=st.lists(st.lists(VALUES, max_size=5), min_size=1, max_size=4))
def test_strings_come_back_and_void_is_minus_one(Y):
    numbers, classes = encode_labels(Y)
    present = sorted({value for y in Y for value in y if value is not None})
    if not present:
        assert classes is None
        return
    assert classes.tolist() == present
    for y, codes in zip(Y, numbers, strict=True):
        assert codes.dtype == np.int64
        decoded = decode_labels(codes, classes).tolist()
        assert [None if code < 0 else value for code, value in zip(codes, decoded, strict=True)] == y


def test_integers_are_left_alone():
    Y = [np.array([0, 2, -1], np.int32), [1, 1]]
    same, classes = encode_labels(Y)
    assert same is Y
    assert classes is None
    assert decode_labels(Y[0], None) is Y[0]
    numbers, classes = encode_labels([[0, None, 2], [np.nan, 1]])
    assert classes is None
    assert [y.tolist() for y in numbers] == [[0, -1, 2], [-1, 1]]
    numbers, classes = encode_labels([np.array([np.float32(0), None, np.float32(2)], dtype=object)])
    assert (numbers[0].tolist(), classes) == ([0, -1, 2], None)


def test_real_numbers_are_no_labels_with_nan_either():
    Y = [np.array([0.3, np.nan, 1.7])]
    assert encode_labels(Y) == (Y, None)


def test_all_marks_of_void_among_strings_are_void():
    mixed = np.array(["a", None, np.nan, -1, "b"], dtype=object)
    assert encode_labels([mixed])[0][0].tolist() == [0, -1, -1, -1, 1]
    assert encode_labels([["a", -1], [-1, -1]])[0][1].tolist() == [-1, -1]


def test_nan_that_numpy_made_a_word_is_refused():
    with pytest.raises(ValueError, match=r"Y\[1\] must not contain the string 'nan': use None for void"):
        encode_labels([np.array(["a", "b"]), np.array(["a", np.nan])])
    assert encode_labels([["nan", "b"]])[1].tolist() == ["b", "nan"]  # a list holds what was meant


def test_nan_is_void_among_whole_numbers():
    numbers, classes = encode_labels([np.array([0.0, np.nan, 2.0]), np.array([1.0, -1.0])])  # as pandas has them
    assert [y.tolist() for y in numbers] == [[0, -1, 2], [1, -1]]
    assert classes is None


def test_other_values_that_sort_are_labels():
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]
    numbers, classes = encode_labels([days])
    assert numbers[0].tolist() == [1, 0]
    assert classes[numbers[0]].tolist() == days


def test_known_classes_decide():
    classes = sorted_classes(["b", "a", "c"])
    assert encode_labels([["c", "b"]], classes)[0][0].tolist() == [2, 1]
    assert encode_labels([["c", "z"]], classes, unseen=3)[0][0].tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"known\[0\] contains 'z', which is none of the 3 classes"):
        encode_labels([["z"]], classes, name="known")


def test_what_cannot_be_a_label_is_refused():
    with pytest.raises(ValueError, match="Y must contain values that can be compared with each other"):
        encode_labels([["a", 3]])
    with pytest.raises(ValueError, match="Y must contain integers, like the labels that the model was fitted with"):
        encode_labels([["a"]], fitted=True)
    with pytest.raises(ValueError, match="classes must contain single values"):
        sorted_classes([("a", "b"), ("c", "d")])
