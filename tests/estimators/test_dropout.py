"""Dropout: in training only, seeded, and never in predictions, also after loading."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from learners import make

from neuralfactors.datasets import make_chains
from neuralfactors.estimators import StructuralSVM, StructuredEstimator, UnaryClassifier

FAST = {"C": 10.0, "trainer__learning_rate": 0.02, "max_iter": 4, "batch_size": 8, "trainer__keep": "last"}


def with_dropout(estimator):
    """The estimator, half of whose hidden units are dropped in training."""
    names = [name for name in estimator.get_params() if name.endswith("__dropout")]
    return estimator.set_params(**dict.fromkeys(names, 0.5))


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


@pytest.mark.parametrize(
    "estimator", [make(StructuralSVM, (5,), (5,), trainer__pretrain=2, **FAST), make(UnaryClassifier, (5,), **FAST)]
)
def test_in_training_only(chains, tmp_path, estimator):
    X, Y = chains
    plain = estimator.fit(X, Y).history_
    fitted = with_dropout(estimator).fit(X, Y, validation=(X[:5], Y[:5]))
    assert fitted.history_[-1]["objective"] > plain[-1]["objective"]  # what is dropped is missed
    assert fitted.history_[-1]["accuracy"] == fitted.score(X[:5], Y[:5])  # judged without dropout
    scores = fitted.potentials(X)
    fitted.save(tmp_path)
    loaded = StructuredEstimator.load(tmp_path)
    for one, two in zip(fitted.predict(X), loaded.predict(X), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(scores, estimator.fit(X, Y).potentials(X), strict=True):
        assert torch.equal(one.unary, two.unary)


@pytest.mark.parametrize("estimator", [make(StructuralSVM, (5,), (5,), **FAST), make(UnaryClassifier, (5,), **FAST)])
def test_threads_do_not_disturb_one_another(chains, tmp_path, estimator):
    X, Y = chains
    with_dropout(estimator).fit(X, Y).save(tmp_path)
    loaded = StructuredEstimator.load(tmp_path)
    n_threads = 8
    together = Barrier(n_threads, timeout=240)

    def spread_out(module, features):  # all have begun; each goes on after the one before it is done
        time.sleep(0.05 * together.wait())

    def scores(_=None):
        if isinstance(loaded, UnaryClassifier):
            return np.concatenate(loaded.predict_proba(X))
        return np.concatenate([potentials.unary for potentials in loaded.potentials(X)])

    expected = scores()
    hook = loaded.model_.unary.register_forward_pre_hook(spread_out)
    with ThreadPoolExecutor(n_threads) as threads:
        found = list(threads.map(scores, range(n_threads)))
    hook.remove()
    for one in found:
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize(
    "estimator",
    [
        make(StructuralSVM, (5,), (5,), unary__dropout=0.5, interaction__dropout=0.5, **FAST),
        make(UnaryClassifier, (5,), **FAST),
    ],
)
def test_a_model_trains_within_its_passes_only(chains, tmp_path, estimator):
    X, Y = chains
    seen = []

    def look(record):
        seen.append(estimator.model_.training)
        if len(seen) == 6:
            raise KeyboardInterrupt

    estimator.set_params(callbacks=[look]).fit(X, Y).save(tmp_path)
    assert seen == [False] * 4
    assert not estimator.model_.training
    loaded = StructuredEstimator.load(tmp_path)
    assert not loaded.model_.training
    assert not loaded.partial_fit(X, Y).model_.training
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert not estimator.model_.training
