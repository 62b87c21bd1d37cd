"""Dropout: in training only, seeded, and never in predictions, also after loading."""

import numpy as np
import pytest
import torch

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import StructuralSVM, StructuredEstimator, UnaryClassifier

FAST = {"C": 10.0, "learning_rate": 0.02, "max_iter": 4, "batch_size": 8, "keep": "last"}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


@pytest.mark.parametrize("estimator", [StructuralSVM((5,), (5,), pretrain=2, **FAST), UnaryClassifier((5,), **FAST)])
def test_in_training_only(chains, tmp_path, estimator):
    X, Y = chains
    plain = estimator.fit(X, Y).history_
    fitted = estimator.set_params(dropout=0.5).fit(X, Y, validation=(X[:5], Y[:5]))
    assert fitted.history_[-1]["objective"] > plain[-1]["objective"]  # what is dropped is missed
    assert fitted.history_[-1]["accuracy"] == fitted.score(X[:5], Y[:5])  # judged without dropout
    scores = fitted.decision(X)
    fitted.save(tmp_path)
    loaded = StructuredEstimator.load(tmp_path)
    for one, two in zip(fitted.predict(X), loaded.predict(X), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(scores, estimator.fit(X, Y).decision(X), strict=True):
        assert torch.equal(one.unary, two.unary)
