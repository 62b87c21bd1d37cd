"""A small quadratic programme over a simplex, which the duals of structural SVMs fall into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference import _kernels


def maximise_on_simplex(
    gram: NDArray[np.float64],
    linear: NDArray[np.float64],
    alpha: NDArray[np.float64],
    tol: float = 1e-8,
    max_iter: int = 20_000,
) -> NDArray[np.float64]:
    """The α ≥ 0 that maximises ⟨linear, α⟩ − ½ αᵀ gram α while its sum stays that of the start.

    Moves weight to the entry of steepest gain from the one that makes the most of it (sequential minimal optimisation
    with second-order choice) until the slopes differ by no more than `tol`, relative to the size of `linear` where that
    is not zero, or for `max_iter` moves. `gram` (K, K) is positive semidefinite, `alpha` (K,) not negative.

    >>> maximise_on_simplex(np.eye(2), np.zeros(2), np.array([1.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    best = alpha.copy()
    _kernels.maximise_on_simplex(np.ascontiguousarray(gram), linear, best, tol, max_iter)
    return best
