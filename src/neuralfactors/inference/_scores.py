"""Scores in whatever array they come, as the kernels take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLAIN = {np.dtype(np.float32), np.dtype(np.float64)}  # in this machine's order of bytes


def as_scores(values: Any, name: str) -> NDArray[Any]:
    """`values` as float32 or float64 in the order of bytes of this machine; copied only if they are not.

    Integers become float64. Other types are refused, under their `name`, and so are rows that differ in length,
    integers that lose digits, and entries that are masked: a mask would be lost.
    """
    if type(values) is np.ndarray and values.dtype in _PLAIN:  # a small problem would notice the rest
        return values
    rows = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        raise ValueError(f"{name} has masked entries: fill them, with -inf where a label is forbidden")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers, but its rows differ in length") from error
    if array.dtype.kind in "iu":
        return _exact_floats(array, name)
    native = array.dtype.newbyteorder("=")
    if native not in (np.float32, np.float64):
        raise ValueError(f"{name} must be of type float32, float64 or integer, got {array.dtype}")
    return array.astype(native, copy=False)


def _exact_floats(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Integers as float64, refused where that rounds them: scores that differ would become the same in silence."""
    floats = array.astype(np.float64)
    large = np.abs(floats) >= 2.0**53
    for value, rounded in zip(array[large].tolist(), floats[large].tolist(), strict=True):
        if value != int(rounded):
            told = "scale the scores down, or make them floats; -inf is what forbids a label"
            raise ValueError(f"{name} has whole numbers that no float64 holds, such as {value}: {told}")
    return floats
