"""Validation data: what is judged after every epoch, given by the user or held out of the training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from neuralfactors._core.graph import Graph
from neuralfactors.learning._training_graphs import Samples, has_edges

Labelled = tuple[Sequence[Graph], Sequence[ArrayLike]]


def hold_out(samples: Samples, fraction: float, seed: int) -> tuple[Samples, Labelled]:
    """What is left of the samples to learn from, of all their classes, and the share `fraction` to validate on."""
    n_held = round(fraction * len(samples)) if 0 < fraction < 1 else 0
    order = np.random.default_rng(seed).permutation(len(samples)).tolist()
    kept, held = samples.take(sorted(order[n_held:])), replace(samples, weight=None).take(sorted(order[:n_held]))
    if not (kept.class_counts().any() and held.class_counts().any()):
        left = "leaves none with labels to learn from, or none to validate on"
        raise ValueError(f"validation_fraction={fraction} of {len(samples)} graphs {left}")
    return kept, (held.X, held.Y)


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
