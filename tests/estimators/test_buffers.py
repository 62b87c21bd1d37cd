"""Buffers, such as the running means of batch normalisation, stay with the parameters that they belong to."""

import pytest
import torch
from sklearn.base import clone
from torch import nn

from neuralfactors.datasets import make_chains
from neuralfactors.estimators import Checkpoint, StructuralSVM

FAST = {
    "C": 100.0,
    "trainer__learning_rate": 0.3,
    "trainer__schedule": "constant",
    "max_iter": 8,
    "interaction__hidden": (),
}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


def with_module(**options):
    torch.manual_seed(0)
    unary = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    return StructuralSVM(unary).set_params(**{**FAST, **options})


def interrupt(svm, chains, path):
    """Leave the checkpoint `path` of epoch 4 behind."""

    def stop(record):
        if record["epoch"] == 5:
            raise KeyboardInterrupt

    kept = Checkpoint(path, every=2)
    svm.set_params(callbacks=[kept, stop])
    with pytest.raises(KeyboardInterrupt):
        svm.fit(*chains)
    return svm.set_params(callbacks=[kept])


def assert_same_state(one, two):
    torch.testing.assert_close(one.model_.state_dict(), two.model_.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize(
    "options", [{"trainer__keep": "last"}, {"trainer__keep": "objective"}, {"trainer__averaging": "linear"}]
)
def test_interrupted_run_resumes_to_the_same_buffers(chains, tmp_path, options):
    whole, resumed = with_module(**options), interrupt(with_module(**options), chains, tmp_path / "c")
    assert_same_state(whole.fit(*chains), resumed.fit(*chains))


def test_the_best_iterate_has_its_own_buffers(chains, monkeypatch):
    X, Y = chains
    monkeypatch.setattr("neuralfactors.learning._descent.IMPROVEMENT", 0.0)
    for options in (
        {"trainer__keep": "objective"},
        {"trainer__keep": "validation"},
        {"trainer__keep": "validation", "trainer__averaging": "uniform"},
    ):
        svm = with_module(**options).fit(X[:20], Y[:20], validation=(X[20:], Y[20:]))
        best = svm.descent_.progress.best_epoch
        assert best < FAST["max_iter"], "the test wants a run whose last iterate is not the best"
        assert_same_state(svm, clone(svm).set_params(max_iter=best, trainer__keep="last").fit(X[:20], Y[:20]))
