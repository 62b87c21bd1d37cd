"""Checkpoints: a run that was killed or interrupted ends with the same bits as one that was not."""

import copy
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
import torch
from sklearn.base import clone
from torch import nn

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import StructuralSVM
from neuralfactors.persistence import load_state

FAST = {"C": 100.0, "learning_rate": 0.02, "max_iter": 8}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


def parameters(estimator):
    return torch.cat([p.detach().flatten() for p in estimator.model_.parameters()])


RUN = """
import sys, torch
torch.set_num_threads(1)
from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import StructuralSVM
X, Y = make_chains(30, 6, 3)
svm = StructuralSVM((5,), (5,), dropout=0.3, C=10.0, averaging="linear", max_iter=40,
                    n_threads=1, checkpoint=sys.argv[1]).fit(X, Y)
svm.save(sys.argv[2])
"""


def test_killed_run_resumes_to_the_same_bits(tmp_path):
    def command(name):
        return [sys.executable, "-c", RUN, str(tmp_path / f"{name}.ckpt"), str(tmp_path / name)]

    subprocess.run(command("whole"), check=True, timeout=120)
    checkpoint, epochs = tmp_path / "killed.ckpt", 0
    for _ in range(2):
        process, deadline = subprocess.Popen(command("killed")), time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            reached = load_state(checkpoint)[0]["progress"]["epoch"] if checkpoint.exists() else 0
            if reached >= epochs + 2:
                break
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        epochs = reached
    assert not (tmp_path / "killed").exists(), "the run ended before it was killed"
    subprocess.run(command("killed"), check=True, timeout=120)
    whole, resumed = (StructuralSVM.load(tmp_path / name) for name in ("whole", "killed"))
    assert torch.equal(parameters(whole), parameters(resumed))
    assert [r["objective"] for r in whole.history_] == [r["objective"] for r in resumed.history_]


@pytest.mark.parametrize("options", [{"optimizer": "sgd"}, {"keep": "last"}, {"batch_size": None, "optimizer": "sgd"}])
def test_interrupted_run_resumes_to_the_same_bits(chains, tmp_path, options):
    svm = StructuralSVM((4,), (4,), **{**FAST, **options})
    expected = parameters(svm.fit(*chains)).clone()

    def interrupt(record):
        if record["epoch"] == 5:
            raise KeyboardInterrupt

    svm.set_params(checkpoint=tmp_path / "c", checkpoint_every=2, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        svm.fit(*chains)
    assert load_state(tmp_path / "c")[0]["progress"]["epoch"] == 4
    assert torch.equal(parameters(svm.set_params(callbacks=None).fit(*chains)), expected)


def test_resumed_run_takes_its_fresh_seed_from_the_checkpoint(chains, tmp_path):
    path = tmp_path / "c"
    options = {**FAST, "random_state": None, "validation_fraction": 0.2}
    finished = StructuralSVM((4,), (4,), checkpoint=path, callbacks=[lambda r: r["epoch"] == 3], **options).fit(*chains)
    resumed = StructuralSVM((4,), (4,), checkpoint=path, **options).fit(*chains)
    assert torch.equal(parameters(resumed), parameters(finished))
    assert resumed.descent_.settings.seed == finished.descent_.settings.seed
    with pytest.raises(ValueError, match="belongs to a run with other parameters or data"):
        clone(resumed).set_params(random_state=0).fit(*chains)
    path.unlink()
    assert resumed.fit(*chains).descent_.settings.seed != finished.descent_.settings.seed


def test_checkpoint_of_another_run_is_refused(chains, tmp_path):
    X, Y = chains
    svm = StructuralSVM((), (), checkpoint=tmp_path / "c", **FAST).fit(X, Y)
    finished = parameters(svm).clone()
    assert torch.equal(parameters(clone(svm).set_params(verbose=0).fit(X, Y)), finished)
    for other, data in ((clone(svm).set_params(C=1.0), (X, Y)), (clone(svm), (X[1:], Y[1:]))):
        with pytest.raises(ValueError, match="belongs to a run with other parameters or data: delete it"):
            other.fit(*data)


class Doubled(nn.Linear):
    def forward(self, features):
        return 2 * super().forward(features)


def frozen(value):
    layer = nn.Linear(3, 3)
    nn.init.constant_(layer.weight, value).requires_grad_(False)
    return layer


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"unary": nn.Linear(3, 3)}, {"unary": Doubled(3, 3)}),
        ({"unary": nn.Linear(3, 3)}, {"unary": nn.Linear(3, 3, bias=False)}),
        ({"unary": frozen(1.0)}, {"unary": frozen(2.0)}),
        ({"unary_hidden": (2,), "activation": nn.Tanh}, {"unary_hidden": (2,), "activation": nn.ReLU}),
        ({"optimizer": torch.optim.NAdam}, {"optimizer": torch.optim.RAdam}),
        ({"optimizer": partial(torch.optim.Adam, eps=1e-8)}, {"optimizer": partial(torch.optim.Adam, eps=1e-6)}),
    ],
)
def test_checkpoint_of_other_modules_or_functions_is_refused(chains, tmp_path, first, second):
    options = {**FAST, "max_iter": 2, "unary_hidden": (), "interaction_hidden": (), "checkpoint": tmp_path / "c"}
    StructuralSVM(**{**options, **first}).fit(*chains)
    StructuralSVM(**{**options, **copy.deepcopy(first)}).fit(*chains)
    with pytest.raises(ValueError, match="belongs to a run with other parameters or data"):
        StructuralSVM(**{**options, **second}).fit(*chains)


def test_a_module_that_starts_elsewhere_may_resume(chains, tmp_path):
    """Its parameters come from the checkpoint."""
    one, two = (StructuralSVM(unary=nn.Linear(3, 3), checkpoint=tmp_path / "c", **FAST).fit(*chains) for _ in range(2))
    assert torch.equal(parameters(one), parameters(two))


def test_checkpoint_with_other_validation_data_is_refused(chains, tmp_path):
    X, Y = chains
    svm = StructuralSVM((), (), keep="validation", checkpoint=tmp_path / "c", **FAST)
    svm.fit(X, Y, validation=(X[:5], Y[:5]))
    svm.fit(X, Y, validation=(X[:5], [y.tolist() for y in Y[:5]]))
    with pytest.raises(ValueError, match="belongs to a run with other parameters or data"):
        svm.fit(X, Y, validation=(X[5:], Y[5:]))


@pytest.mark.parametrize("every", [0, -1, 1.5, None])
def test_unfit_checkpoint_every_is_refused_before_training(chains, tmp_path, every):
    svm = StructuralSVM((), (), checkpoint=tmp_path / "c", checkpoint_every=every, **FAST)
    with pytest.raises(ValueError, match=f"checkpoint_every must be an integer ≥ 1, got {every}"):
        svm.fit(*chains)
    assert not hasattr(svm, "model_")
