"""Sparse features: matrices of scipy in compressed rows, checked, and stacked into a tensor."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK = 2**20  # entries: 8 MiB in float64


def is_sparse(features: Any) -> bool:
    """Whether `features` is a sparse matrix or array of scipy, which is not imported for the answer."""
    return hasattr(features, "tocsr")


def check_sparse(values: Any, name: str) -> Any:
    """Sparse numbers in compressed rows, of float32 or float64, which other types become; the array itself if it is so.

    All entries are finite and none is stored twice. Other values are refused, under their `name`; the sentence says
    where the fault is.
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


def stack_sparse(matrices: list[Any], dtype: torch.dtype | None) -> Tensor:
    """The rows of all `matrices`, some of which may be dense, as one tensor of layout `torch.sparse_csr` on the CPU.

    Without `dtype` they keep theirs, and a matrix that stands alone is not copied.
    """
    from scipy.sparse import vstack

    joined = matrices[0] if len(matrices) == 1 else vstack(matrices, format="csr")
    values, columns, pointers = (torch.from_numpy(array) for array in stored_arrays(joined))
    return _compressed(pointers, columns, values if dtype is None else values.to(dtype), joined.shape)


def row_blocks(features: Tensor, dtype: torch.dtype, most: int = BLOCK) -> Iterator[Tensor]:
    """The rows of a tensor of layout `torch.sparse_csr` in blocks, of type `dtype`, that are small beside it.

    A block has at most `most` stored entries, unless one row has more. Of a tensor without rows there is one block
    without.
    """
    pointers, columns, values = features.crow_indices(), features.col_indices(), features.values()
    start, n_rows = 0, len(features)
    while start < n_rows or start == n_rows == 0:
        stop = int(torch.searchsorted(pointers, pointers[start] + most, right=True)) - 1
        stop = min(max(stop, start + 1), n_rows)
        part = slice(int(pointers[start]), int(pointers[stop]))
        own = pointers[start : stop + 1] - pointers[start]
        yield _compressed(own, columns[part], values[part].to(dtype), (stop - start, features.shape[1]))
        if stop == n_rows:
            return
        start = stop


def take_rows(features: Tensor, rows: Tensor) -> Tensor:
    """Some rows of features, dense or of layout `torch.sparse_csr`, in the same layout."""
    if features.layout is not torch.sparse_csr:
        return features[rows]
    pointers, columns, values = features.crow_indices(), features.col_indices(), features.values()
    counts = pointers.diff()[rows]
    own = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    entries = torch.repeat_interleave(pointers[rows] - own[:-1], counts) + torch.arange(int(own[-1]), device=own.device)
    return _compressed(own, columns[entries], values[entries], (len(rows), features.shape[1]))


def _compressed(pointers: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(pointers, columns, values, shape, check_invariants=False)
