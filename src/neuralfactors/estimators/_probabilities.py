"""Probabilities of labels from potentials: marginals, and the temperature that calibrates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._core.potentials import Potentials
from neuralfactors.inference._sums import SUM_METHODS
from neuralfactors.learning._decode import Decoder
from neuralfactors.learning._losses import check_option
from neuralfactors.learning._perturbed import perturbed_marginals

PERTURB = "perturb"
COLDEST, HOTTEST = 0.02, 500.0  # temperatures between which the best one is looked for
PRECISION = 0.02  # of the best temperature, relative
LEAST = 1e-6  # probability in place of 0: shares of perturbed predictions are 0 where a label is merely rare


def node_marginals(potentials: Potentials, decoder: Decoder) -> NDArray[np.floating[Any]]:
    """Probabilities (V, L) of the labels of every node, by the sums that the decoder's `marginals` names."""
    check_option("marginals", decoder.marginals, (*SUM_METHODS, PERTURB))
    if decoder.marginals == PERTURB:
        found = perturbed_marginals(potentials, decoder=decoder, random_state=decoder.random_state)
    else:
        found = potentials.marginals(method=decoder.marginals, n_threads=decoder.n_threads)
    probabilities: NDArray[np.floating[Any]] = found.nodes.cpu().numpy()
    return probabilities


def scaled(potentials: Potentials, factor: float) -> Potentials:
    """The potentials times a positive factor."""
    if factor == 1.0:
        return potentials
    return replace(potentials, unary=potentials.unary * factor, interaction=potentials.interaction * factor)


def best_temperature(
    batches: Sequence[Potentials],
    nodes: NDArray[np.int64],
    y: NDArray[np.int64],
    weight: NDArray[Any],
    decoder: Decoder,
) -> float:
    """The temperature T, of scores divided by T, at which the labels that were observed are most probable.

    The labels `y` (K,) were observed at `nodes` (K,), numbered through all batches, and count by their `weight` (K,).
    """
    from scipy.optimize import minimize_scalar  # which takes long to import

    def loss(log_temperature: float) -> float:
        factor = float(np.exp(-log_temperature))
        found = np.concatenate([node_marginals(scaled(batch, factor), decoder) for batch in batches])
        return -float(weight @ np.log(np.maximum(found[nodes, y], LEAST)))

    bounds = np.log(COLDEST), np.log(HOTTEST)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": PRECISION}).x))
