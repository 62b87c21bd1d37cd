"""Scores of any type and layout mean the same to every call; what is no score is refused by all of them."""

import numpy as np
import pytest

from neuralfactors.inference import marginals, marginals_batch, sample, solve, solve_batch, topk
from neuralfactors.inference._scores import as_scores

UNARY = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
TABLES = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 4.0], [1.0, 0.0]]])
EDGES = np.array([[0, 1], [1, 2]])
PTR = [0, 3], [0, 2]

CALLS = {
    "solve": lambda *p: solve(*p).score,
    "solve_batch": lambda *p: solve_batch(*p, *PTR).score.tolist(),
    "marginals": lambda *p: marginals(*p).log_partition,
    "marginals_batch": lambda *p: marginals_batch(*p, *PTR).log_partition.tolist(),
    "sample": lambda *p: sample(*p, 5, random_state=0).tolist(),
    "topk": lambda *p: topk(*p, 3).score.tolist(),
}
calls = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


FORMS = {
    "lists": np.ndarray.tolist,
    "integers": lambda a: a.astype(int),
    "bytes": lambda a: a.astype(np.uint8),
    "single": lambda a: a.astype(np.float32),
    "other order of bytes": lambda a: a.astype(">f8"),
    "other order of bytes, single": lambda a: a.astype(">f4"),
    "integers in another order of bytes": lambda a: a.astype(">i2"),
    "Fortran's order": np.asfortranarray,
    "every other": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "read-only": read_only,
    "masked nowhere": np.ma.masked_array,
}


@calls
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_form_means_nothing(call, form):
    expected = call(UNARY, TABLES, EDGES)
    np.testing.assert_allclose(call(form(UNARY), form(TABLES), EDGES), expected, rtol=1e-6)
    np.testing.assert_allclose(call(form(UNARY), TABLES, EDGES), expected, rtol=1e-6)
    if form not in (FORMS["single"], FORMS["other order of bytes"], FORMS["other order of bytes, single"]):
        assert call(UNARY, TABLES, form(EDGES)) == expected


@calls
@pytest.mark.parametrize(
    "dtype", [np.float16, np.longdouble, complex, bool, object, str, "datetime64[s]"], ids=lambda d: str(d)
)
def test_other_types_are_refused(call, dtype):
    with pytest.raises(ValueError, match="unary must be of type float32, float64 or integer, got "):
        call(UNARY.astype(int).astype(dtype), TABLES, EDGES)
    with pytest.raises(ValueError, match="interaction must be of type float32, float64 or integer, got "):
        call(UNARY, TABLES.astype(int).astype(dtype), EDGES)


@calls
def test_integers_that_would_be_rounded_are_refused(call):
    large = np.array([[2**53, 2**53 + 1], [0, 0], [0, -(2**62)]])
    with pytest.raises(ValueError, match="unary has whole numbers that no float64 holds, such as 9007199254740993: "):
        call(large, TABLES, EDGES)
    large[0, 1] += 1
    call(large, TABLES, EDGES)


@calls
def test_a_mask_is_not_lost(call):
    for arguments, name in (
        ((np.ma.masked_equal(UNARY, 2.0), TABLES), "unary"),
        ((UNARY, np.ma.masked_equal(TABLES, 4.0)), "interaction"),
        (([np.ma.masked_equal(row, 2.0) for row in UNARY], TABLES), "unary"),
        (([np.ma.masked_equal(UNARY[0], 0.0), UNARY[1], [0.0]], [TABLES[0], [[1.0], [1.0]]]), r"unary\[0\]"),
    ):
        with pytest.raises(ValueError, match=f"{name} has masked entries: fill them, with -inf where a label is for"):
            call(*arguments, EDGES)


def test_a_mask_of_a_factor_is_not_lost():
    factor = (0, 1, 2), np.ma.masked_less(np.arange(8.0).reshape(2, 2, 2), 3.0)
    with pytest.raises(ValueError, match=r"the table of factors\[0\] has masked entries"):
        solve(UNARY, TABLES, EDGES, factors=[factor])
    filled = factor[0], factor[1].filled(-np.inf)
    assert solve(UNARY, TABLES, EDGES, factors=[filled]).status == "optimal"


@calls
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_named(call, value):
    for n, name in enumerate(("unary", "interaction")):
        arguments = [UNARY.copy(), TABLES.copy()]
        arguments[n][(1,) * arguments[n].ndim] = value
        what = "NaN" if np.isnan(value) else r"\+inf"
        place = ", ".join(["1"] * arguments[n].ndim)
        with pytest.raises(ValueError, match=rf"{name}\[{place}\] is {what}: scores must be finite, or -inf where"):
            call(*arguments, EDGES)


@calls
def test_arguments_are_left_alone(call):
    given = UNARY.copy(), TABLES.copy(), EDGES.copy()
    call(*given)
    for array, before in zip(given, (UNARY, TABLES, EDGES), strict=True):
        np.testing.assert_array_equal(array, before)


@calls
def test_a_label_may_be_forbidden(call):
    forbidden = UNARY.copy()
    forbidden[2, 1] = -np.inf
    low = UNARY.copy()
    low[2, 1] = -1e4
    if call is CALLS["sample"]:
        assert not np.array(call(forbidden, TABLES, EDGES))[:, 2].any()
    else:
        np.testing.assert_allclose(call(forbidden, TABLES, EDGES), call(low, TABLES, EDGES))


def test_nothing_is_copied_without_need():
    for dtype in (np.float32, np.float64):
        array = np.zeros((2, 2), dtype)
        assert as_scores(array, "scores") is array
    assert as_scores([[1, 2]], "scores").dtype == np.float64
    assert as_scores(np.zeros(2, ">f4"), "scores").dtype == np.dtype(np.float32)
    with pytest.raises(ValueError, match="scores must be an array of numbers, but its rows differ in length"):
        as_scores([[1.0], [1.0, 2.0]], "scores")
