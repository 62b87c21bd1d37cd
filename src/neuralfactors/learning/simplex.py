"""A small quadratic programme over a simplex, which the duals of structural SVMs fall into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def maximise_on_simplex(
    gram: NDArray[np.float64],
    linear: NDArray[np.float64],
    alpha: NDArray[np.float64],
    tol: float = 1e-10,
    max_iter: int = 20_000,
) -> NDArray[np.float64]:
    """The α ≥ 0 that maximises ⟨linear, α⟩ − ½ αᵀ gram α while its sum stays that of the start.

    Moves weight between the two entries that gain most (sequential minimal optimisation) until none gains by more than
    `tol`, relative to the size of the gradient.

    Parameters
    ----------
    gram : array of shape (K, K)
        Positive semidefinite.
    linear : array of shape (K,)
    alpha : array of shape (K,)
        Where to start, not negative.

    Examples
    --------
    >>> maximise_on_simplex(np.eye(2), np.zeros(2), np.array([1.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    alpha = alpha.copy()
    gradient = linear - gram @ alpha
    scale = max(1.0, float(np.abs(linear).max(initial=0.0)))
    for _ in range(max_iter):
        gain, give = int(gradient.argmax()), int(np.where(alpha > 0, gradient, np.inf).argmin())
        slope = gradient[gain] - gradient[give]
        if slope <= tol * scale:
            break
        curvature = gram[gain, gain] + gram[give, give] - 2.0 * gram[gain, give]
        step = alpha[give] if curvature <= 0 else min(alpha[give], slope / curvature)
        alpha[gain] += step
        alpha[give] -= step
        gradient -= step * (gram[gain] - gram[give])
    return alpha
