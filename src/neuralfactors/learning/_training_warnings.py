"""What makes training data hard to learn from, told where `fit` was called."""

from __future__ import annotations

import warnings

import numpy as np

from neuralfactors._core.sparse import is_sparse
from neuralfactors.learning._training_graphs import ClassWeight, Samples

ENOUGH_EDGES = 2 / 3  # of those that graphs have; with fewer, the factors learn from other graphs than they will see
SCALES, LOOKED_AT = 1000.0, 100  # how much larger than another a column of features may be; in how many graphs
LEARNT = 0.99  # share of the loss of constant scores below which something has been learned


def warn_of_dropped_edges(samples: Samples, advice: str) -> None:
    """Warn where dropping void nodes leaves less than two thirds of the edges: call it from `fit` itself."""
    left = samples.edges_left()
    if left < ENOUGH_EDGES:
        told = f"without the void nodes (-1), {left:.0%} of the edges are left to learn interactions from: {advice}"
        warnings.warn(told, UserWarning, stacklevel=3)


def warn_of_scales(samples: Samples) -> None:
    """Warn where some node features are so large that others count for nothing: call it from `fit` itself."""
    seen = (samples.X[n].node_features for n in range(min(LOOKED_AT, len(samples))))
    ends = [(f.min(axis=0), f.max(axis=0)) for f in seen if not is_sparse(f) and len(f)]
    if not ends:
        return
    least, most = np.min([first for first, _ in ends], axis=0), np.max([last for _, last in ends], axis=0)
    if not (least < most).any():
        return
    # A column that is the same everywhere is a bias, or the rounding that scaling has left of one.
    largest = np.maximum(-least, most)
    high, low = int(largest.argmax()), int(np.where(least < most, largest, np.inf).argmin())
    if largest[high] > SCALES * largest[low]:
        warnings.warn(
            f"node features go up to {largest[high]:.3g} in column {high}, but to {largest[low]:.3g} in column {low}, "
            "which will hardly count: scale them, with a GraphScaler in a pipeline for instance",
            UserWarning,
            stacklevel=3,
        )


def warn_of_little_learnt(samples: Samples, class_weight: ClassWeight, hinge: float) -> None:
    """Warn where the mean `hinge` is about that of constant scores, if all nodes count alike: call it from `fit`."""
    constant = constant_hinge(samples)
    if class_weight is not None or samples.weight is not None or hinge <= LEARNT * constant:
        return
    if constant > 0 and all(samples.X[n].node_weight is None for n in range(len(samples))):
        warnings.warn(
            f"training ended with a mean hinge of {hinge:.6g}, where constant scores would give {constant:.6g}: "
            'try a higher C, class_weight="balanced" or neural factors',
            UserWarning,
            stacklevel=3,
        )


def constant_hinge(samples: Samples) -> float:
    """The least mean hinge that constant scores of labels have, where all nodes count alike.

    With equal scores every node costs 1; with the commonest label 1 above the others, only nodes of these cost, 2 each.
    """
    counts = samples.class_counts()
    total = int(counts.sum())
    return min(total, 2 * (total - int(counts.max()))) / len(samples)
