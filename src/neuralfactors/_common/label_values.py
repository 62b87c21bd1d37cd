"""Labels as users write them, and as learners count them: 0, 1, ..., and −1 for void."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.labels import VOID, refuse_masked

Classes = NDArray[Any]  # (L,) the label that each number stands for, sorted


def encode_labels(
    Y: Sequence[Any],
    classes: Classes | None = None,
    *,
    fitted: bool = False,
    name: str = "Y",
    unseen: int | None = None,
) -> tuple[Sequence[Any], Classes | None]:
    """Labels as numbers, and what these stand for: (L,) values, or None where the labels are integers.

    Integers stay as they are, and whatever else no model takes: it is not checked here. Where any are strings or other
    values that sort, all become numbers; None, NaN and −1 among them are void. The numbers stand for `classes`, by
    default the values that occur, sorted. Where a model is `fitted` without classes, labels must be integers. Values
    that `classes` do not have become `unseen`, or are refused where that is None. Errors call the labels `name`.

    >>> numbers, classes = encode_labels([["noun", "verb"], ["noun", None]])
    >>> [y.tolist() for y in numbers], classes.tolist()
    ([[0, 1], [0, -1]], ['noun', 'verb'])
    """
    for n, y in enumerate(Y):
        refuse_masked(y, f"{name}[{n}]")
        _refuse_written_nan(y, f"{name}[{n}]")
    if classes is None and not any(_is_named(y) for y in Y):
        return Y, None
    values = [np.asarray(y, dtype=object) for y in Y]
    if classes is None:
        present = {value for y in values for value in y.flat if not _is_void(value)}
        if all(_is_whole(value) for value in present):  # such as those of [0, None, 1], and of pandas' [0.0, nan, 1.0]
            return [_numbers(y, {value: int(value) for value in present}, name, None) for y in values], None
        if fitted:
            raise ValueError(f"{name} must contain integers, like the labels that the model was fitted with")
        classes = sorted_classes(present, name)
    number = {value: k for k, value in enumerate(classes.tolist())}
    return [_numbers(y, number, f"{name}[{n}]", unseen) for n, y in enumerate(values)], classes


def sorted_classes(values: Iterable[Any], name: str = "classes") -> Classes:
    """The different values, sorted; refused where they cannot be compared."""
    try:
        classes = np.array(sorted(set(values)))
    except TypeError as error:
        raise ValueError(f"{name} must contain values that can be compared with each other: {error}") from error
    if classes.ndim != 1:
        raise ValueError(f"{name} must contain single values, got {next(iter(values))!r}")
    return classes


def decode_labels(labels: NDArray[np.int64], classes: Classes | None) -> NDArray[Any]:
    """What numbers of labels stand for; they themselves where labels are integers."""
    return labels if classes is None else classes[labels]


def _numbers(y: NDArray[Any], number: dict[Any, int], name: str, unseen: int | None) -> NDArray[np.int64]:
    known = {**number, None: VOID}
    keys = [None if _is_void(value) else value for value in y.flat]
    strange = [key for key in keys if key not in known]
    if strange and unseen is None:
        raise ValueError(f"{name} contains {strange[0]!r}, which is none of the {len(number)} classes")
    return np.array([known.get(key, unseen) for key in keys], dtype=np.int64).reshape(y.shape)


def _is_named(y: Any) -> bool:
    values = np.asarray(y)
    if values.dtype.kind == "f":  # NaN is void among whole numbers; other numbers are no labels
        void = np.isnan(values)
        return bool(void.any()) and not np.mod(values[~void], 1).any()
    return values.dtype.kind in "OSTU"


def _refuse_written_nan(y: Any, name: str) -> None:
    """Refuse the word that numpy makes of NaN in an array of strings, where it would silently become a class."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "UT" and (y == "nan").any():
        raise ValueError(f"{name} must not contain the string 'nan': use None for void, in an array of dtype object")


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value.is_integer())


def _is_void(value: Any) -> bool:
    if isinstance(value, (int, np.integer)):
        return int(value) == VOID
    return value is None or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
