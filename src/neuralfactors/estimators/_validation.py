"""Validation data: what is judged after every epoch, given by the user or held out of the training data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from neuralfactors._core.graph import Graph
from neuralfactors.learning._training_graphs import Samples, has_edges

Labelled = tuple[Sequence[Graph], Sequence[ArrayLike]]


def hold_out(n_graphs: int, fraction: float, seed: int) -> tuple[list[int], list[int]]:
    """Numbers of the graphs to learn from, and of the share `fraction` to validate on."""
    n_held = round(fraction * n_graphs)
    if not 0 < n_held < n_graphs:
        raise ValueError(
            f"validation_fraction={fraction} of {n_graphs} graphs leaves none to learn from, or none to validate on"
        )
    order = np.random.default_rng(seed).permutation(n_graphs)
    return sorted(order[n_held:].tolist()), sorted(order[:n_held].tolist())


def check_validation(validation: Labelled, samples: Samples) -> Labelled:
    """The validation data, labels as numbers, refused if they cannot judge what is learned from `samples`."""
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise ValueError(f"validation must be a pair (X, Y) of graphs and labels, got {type(validation).__name__}")
    try:
        n_labels, known = None if samples.types is None else samples.types.n_labels, samples.n_labels
        held = Samples.check(*validation, n_labels, known=known, classes=samples.classes, unseen=known)
    except ValueError as error:
        raise ValueError(f"validation data: {error}") from error
    names = {"n_node_features": "node features"}
    if has_edges(held.X):  # graphs without fit any
        names |= {"n_edge_features": "edge features", "order": "nodes in an edge"}
    for name, what in names.items():
        if getattr(held, name) != getattr(samples, name):
            raise ValueError(f"validation data have {getattr(held, name)} {what}, but X has {getattr(samples, name)}")
    return held.X, held.Y
