"""Arrays of a graph made small for a file, without loss: integers in few bytes, floats in 16 bits, rows stored once.

Feature maps are rounded to 16 bits when they are computed, and neighbouring regions share the means of their
surroundings: of 3000 regions, a third of the bytes is left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuralfactors.vision._cache import Arrays

COLUMNS = 64  # that are looked at together: rows repeat in some of the columns, not in all
SEVERAL = 2  # times that rows must occur on average, to be stored once
WORTH = 2**14  # bytes: less is left as it is
SPECIAL = "/"  # in the names of parts
TYPES: tuple[type[np.integer], ...] = (np.uint8, np.uint16, np.int32)


def pack(arrays: Arrays) -> Arrays:
    """The same in fewer bytes; `unpack` is the way back, to the bit."""
    packed: Arrays = {}
    for name, array in arrays.items():
        if array.nbytes < WORTH:
            packed[name] = array
        elif array.dtype.kind in "iu":
            packed[f"{name}{SPECIAL}{array.dtype.name}"] = _few_bytes(array)
        elif array.dtype == np.float32 and array.ndim == 2:
            packed |= {f"{name}{SPECIAL}{part}": value for part, value in _pack_columns(array)}
        else:
            packed[name] = array
    return packed


def unpack(packed: Arrays) -> Arrays:
    """What `pack` was given."""
    arrays = {name: array for name, array in packed.items() if SPECIAL not in name}
    for name in dict.fromkeys(key.partition(SPECIAL)[0] for key in packed if SPECIAL in key):
        parts = {key.partition(SPECIAL)[2]: value for key, value in packed.items() if key.startswith(name + SPECIAL)}
        if "first" in parts:
            arrays[name] = _unpack_columns(parts)
        else:
            ((dtype, values),) = parts.items()
            arrays[name] = values.astype(dtype)
    return arrays


def _few_bytes(array: NDArray[np.integer]) -> NDArray[np.integer]:
    low, high = int(array.min()), int(array.max())
    fitting = (kind for kind in TYPES if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return array.astype(next(fitting, array.dtype.type))


def _pack_columns(array: NDArray[np.float32]) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Parts of a matrix by name: blocks of columns, of which rows that repeat are stored once."""
    firsts = list(range(0, array.shape[1], COLUMNS))
    yield "first", np.array(firsts)
    for first in firsts:
        columns = _half(np.ascontiguousarray(array[:, first : first + COLUMNS]))
        rows = columns.view(np.dtype((np.void, columns.dtype.itemsize * columns.shape[1]))).ravel()
        _, once, place = np.unique(rows, return_index=True, return_inverse=True)
        if SEVERAL * len(once) > len(rows):
            yield f"{first}", columns
        else:
            yield f"{first}{SPECIAL}rows", columns[once]
            yield f"{first}{SPECIAL}place", _few_bytes(place)


def _unpack_columns(parts: Arrays) -> NDArray[np.float32]:
    found = []
    for first in parts["first"].tolist():
        rows, place = parts.get(f"{first}{SPECIAL}rows"), parts.get(f"{first}{SPECIAL}place")
        found.append(parts[f"{first}"] if rows is None or place is None else rows[place])
    return np.concatenate(found, axis=1, dtype=np.float32)


def _half(columns: NDArray[np.float32]) -> NDArray[np.float16] | NDArray[np.float32]:
    """The values in 16 bits, if none of them changes by that."""
    with np.errstate(over="ignore"):
        half = columns.astype(np.float16)
    return half if np.array_equal(half, columns) else columns
