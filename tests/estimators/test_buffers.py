"""Buffers, such as the running means of batch normalisation, stay with the parameters that they belong to."""

import pytest
import torch
from sklearn.base import clone
from torch import nn

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import StructuralSVM
from neuralfactors.persistence import load_state, save_state

FAST = {"C": 100.0, "learning_rate": 0.3, "schedule": "constant", "max_iter": 8, "interaction_hidden": ()}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


def make(**options):
    torch.manual_seed(0)
    unary = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    return StructuralSVM(unary=unary, **{**FAST, **options})


def interrupt(svm, chains, path):
    """Leave the checkpoint `path` of epoch 4 behind."""

    def stop(record):
        if record["epoch"] == 5:
            raise KeyboardInterrupt

    svm.set_params(checkpoint=path, checkpoint_every=2, callbacks=[stop])
    with pytest.raises(KeyboardInterrupt):
        svm.fit(*chains)
    return svm.set_params(callbacks=None)


def assert_same_state(one, two):
    torch.testing.assert_close(one.model_.state_dict(), two.model_.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("options", [{"keep": "last"}, {"keep": "objective"}, {"averaging": "linear"}])
def test_interrupted_run_resumes_to_the_same_buffers(chains, tmp_path, options):
    whole, resumed = make(**options), interrupt(make(**options), chains, tmp_path / "c")
    assert_same_state(whole.fit(*chains), resumed.fit(*chains))


def test_the_best_iterate_has_its_own_buffers(chains):
    X, Y = chains
    for options in ({"keep": "objective"}, {"keep": "validation"}, {"keep": "validation", "averaging": "uniform"}):
        svm = make(tol=0.0, **options).fit(X[:20], Y[:20], validation=(X[20:], Y[20:]))
        best = svm.descent_.progress.best_epoch
        assert best < FAST["max_iter"], "the test wants a run whose last iterate is not the best"
        assert_same_state(svm, clone(svm).set_params(max_iter=best, keep="last").fit(X[:20], Y[:20]))


def without_buffers(path):
    """Make the checkpoint `path` what versions before this one wrote."""
    document, tensors = load_state(path)
    del document["sha256"]
    save_state(path, document, {name: tensor for name, tensor in tensors.items() if "buffer" not in name})


def test_old_checkpoints_resume_where_there_are_no_buffers(chains, tmp_path):
    # Which entries a symmetric table shares is a buffer too, but one that never changes.
    svm = StructuralSVM((4,), symmetric=True, **FAST)
    resumed = interrupt(clone(svm), chains, tmp_path / "c")
    without_buffers(tmp_path / "c")
    assert_same_state(svm.fit(*chains), resumed.fit(*chains))


def test_old_checkpoints_are_refused_where_buffers_are_missing(chains, tmp_path):
    svm = interrupt(make(), chains, tmp_path / "c")
    without_buffers(tmp_path / "c")
    with pytest.raises(ValueError, match="left out the buffers of the model: start the run afresh"):
        svm.fit(*chains)
