"""Dropout of the unary factor's inputs: in training only, seeded, and kept with the model."""

import numpy as np
import pytest
import torch

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import StructuralSVM, StructuredEstimator, UnaryClassifier

FAST = {"C": 10.0, "learning_rate": 0.02, "max_iter": 4, "batch_size": 8}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


@pytest.mark.parametrize("estimator", [StructuralSVM((5,), (5,), pretrain=2, **FAST), UnaryClassifier((5,), **FAST)])
def test_in_training_only(chains, tmp_path, estimator):
    X, Y = chains
    plain = estimator.fit(X, Y).history_
    fitted = estimator.set_params(input_dropout=0.5).fit(X, Y)
    assert fitted.history_[-1]["objective"] > plain[-1]["objective"]  # what is dropped is missed
    scores = fitted.decision(X[:3])
    for one, two in zip(scores, fitted.decision(X[:3]), strict=True):
        assert torch.equal(one.unary, two.unary)
    fitted.save(tmp_path)
    loaded = StructuredEstimator.load(tmp_path)
    assert loaded.input_dropout == 0.5
    for one, two in zip(fitted.predict(X), loaded.predict(X), strict=True):
        np.testing.assert_array_equal(one, two)
    again = estimator.fit(X, Y).decision(X[:3])[0]
    assert torch.equal(again.unary, scores[0].unary)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_bad_share_is_refused(chains, share):
    with pytest.raises(ValueError, match=f"input_dropout must be at least 0 and below 1, got {share}"):
        UnaryClassifier(input_dropout=share).fit(*chains)
