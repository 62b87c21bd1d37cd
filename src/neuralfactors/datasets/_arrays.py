"""Arrays in files that `numpy.save` wrote: never unpickled, and refused by one sentence if they are not whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import check_regular

NUMPY = ".npy"


def open_array(path: Path) -> NDArray[Any]:
    """The array in a file, mapped and not yet read: one that claims to be larger than its file is refused at once."""
    check_regular(path)
    try:
        with np.errstate(over="ignore"):  # in the size of a hostile shape
            found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except (OSError, ValueError, EOFError, OverflowError, SyntaxError, TypeError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} could not be read as an array: {told}") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        got = getattr(found, "dtype", "several arrays")
        raise ValueError(f"{path} must contain one array of numbers, got {got}")
    return found


def read_array(path: Path) -> NDArray[Any]:
    """The array of numbers in a file, all of them finite."""
    return check_finite(np.array(open_array(path)), path)


def check_finite(values: NDArray[Any], path: Path) -> NDArray[Any]:
    """`values` from the file `path`, refused if there are NaN or infinite ones."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{path} contains numbers that are not finite: replace them first")
    return values
