"""Sparse features: matrices of scipy in compressed rows, checked, and stacked into a tensor."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def is_sparse(features: Any) -> bool:
    """Whether `features` is a sparse matrix or array of scipy, which is not imported for the answer."""
    return hasattr(features, "tocsr")


def check_sparse(values: Any, name: str) -> Any:
    """Sparse numbers in compressed rows.

    Parameters
    ----------
    values : sparse matrix or array of scipy
        Any numbers; types other than float32 and float64 become float32.
    name : str
        What errors call them.

    Returns
    -------
    csr_array
        All entries finite and none of them stored twice; not copied if it is so already.

    Raises
    ------
    ValueError
        If they are no numbers, not finite or not of two dimensions; the sentence says where.
    """
    from scipy.sparse import csr_array

    if values.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, got shape {values.shape}")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got dtype {values.dtype}")
    rows = csr_array(values)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        at = int(np.flatnonzero(~np.isfinite(rows.data))[0])
        place = int(np.searchsorted(rows.indptr, at, side="right")) - 1, int(rows.indices[at])
        raise ValueError(f"{name} must be finite, got {rows.data[at]} at {place}")
    return rows


def stored_arrays(features: Any) -> tuple[NDArray[Any], ...]:
    """The arrays that hold dense or sparse features: values, then columns and row pointers where they are sparse."""
    return (features.data, features.indices, features.indptr) if is_sparse(features) else (features,)


def stack_sparse(matrices: list[Any], dtype: torch.dtype) -> Tensor:
    """The rows of all `matrices`, some of which may be dense, as one tensor of layout `torch.sparse_csr`."""
    from scipy.sparse import vstack

    joined = matrices[0] if len(matrices) == 1 else vstack(matrices, format="csr")
    values, columns, pointers = (torch.from_numpy(array) for array in stored_arrays(joined))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(pointers, columns, values.to(dtype), joined.shape, check_invariants=False)
