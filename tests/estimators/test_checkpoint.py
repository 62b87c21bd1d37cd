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
from learners import FAST, make, parameters
from sklearn.base import clone
from torch import nn

from neuralfactors._common.persistence import load_state
from neuralfactors.estimators import Checkpoint, CuttingPlaneSVM, Decoder, Network, StructuralSVM, Subgradient

RUN = """
import sys, torch
torch.set_num_threads(1)
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import Checkpoint, Decoder, Network, StructuralSVM, Subgradient
X, Y = make_chains(30, 6, 3)
svm = StructuralSVM(Network((5,), dropout=0.3), Network((5,), dropout=0.3), C=10.0, max_iter=40,
                    trainer=Subgradient(averaging="linear"), decoder=Decoder(n_threads=1),
                    callbacks=[Checkpoint(sys.argv[1])]).fit(X, Y)
svm.save(sys.argv[2])
"""


def test_killed_run_resumes_to_the_same_bits(tmp_path):
    def command(name):
        return [sys.executable, "-c", RUN, str(tmp_path / f"{name}.ckpt"), str(tmp_path / name)]

    subprocess.run(command("whole"), check=True, timeout=120)
    checkpoint, epochs = tmp_path / "killed.ckpt", 0
    for _ in range(2):
        process, deadline = subprocess.Popen(command("killed")), time.monotonic() + 240
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


@pytest.mark.parametrize(
    "options",
    [{"trainer__optimizer": "sgd"}, {"trainer__keep": "last"}, {"batch_size": None, "trainer__optimizer": "sgd"}],
)
def test_interrupted_run_resumes_to_the_same_bits(chains, tmp_path, options):
    svm = make(StructuralSVM, (4,), (4,), **{**FAST, **options})
    expected = parameters(svm.fit(*chains)).clone()

    def interrupt(record):
        if record["epoch"] == 5:
            raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "c", every=2)
    svm.set_params(callbacks=[kept, interrupt])
    with pytest.raises(KeyboardInterrupt):
        svm.fit(*chains)
    assert load_state(tmp_path / "c")[0]["progress"]["epoch"] == 4
    assert torch.equal(parameters(svm.set_params(callbacks=[kept]).fit(*chains)), expected)


def test_resumed_run_takes_its_fresh_seed_from_the_checkpoint(chains, tmp_path):
    path = tmp_path / "c"
    options = {**FAST, "random_state": None, "trainer__validation_fraction": 0.2, "callbacks": [Checkpoint(path)]}
    resumed = make(StructuralSVM, (4,), (4,), **options)
    finished = clone(resumed).set_params(callbacks=[Checkpoint(path), lambda r: r["epoch"] == 3]).fit(*chains)
    resumed.fit(*chains)
    assert torch.equal(parameters(resumed), parameters(finished))
    assert resumed.descent_.settings.seed == finished.descent_.settings.seed
    with pytest.raises(ValueError, match="belongs to a run with different parameters or data"):
        clone(resumed).set_params(random_state=0).fit(*chains)
    path.unlink()
    assert resumed.fit(*chains).descent_.settings.seed != finished.descent_.settings.seed


def test_checkpoint_of_another_run_is_refused(chains, tmp_path):
    X, Y = chains
    svm = make(StructuralSVM, (), (), callbacks=[Checkpoint(tmp_path / "c")], **FAST).fit(X, Y)
    finished = parameters(svm).clone()
    assert torch.equal(parameters(clone(svm).set_params(verbose=0).fit(X, Y)), finished)
    for other, data in ((clone(svm).set_params(C=1.0), (X, Y)), (clone(svm), (X[1:], Y[1:]))):
        with pytest.raises(ValueError, match="belongs to a run with different parameters or data: delete it"):
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
        (
            {"unary__hidden": (2,), "unary__activation": nn.Tanh},
            {"unary__hidden": (2,), "unary__activation": nn.ReLU},
        ),
        ({"trainer__optimizer": torch.optim.NAdam}, {"trainer__optimizer": torch.optim.RAdam}),
        (
            {"trainer__optimizer": partial(torch.optim.Adam, eps=1e-8)},
            {"trainer__optimizer": partial(torch.optim.Adam, eps=1e-6)},
        ),
    ],
)
def test_checkpoint_of_other_modules_or_functions_is_refused(chains, tmp_path, first, second):
    options = {**FAST, "max_iter": 2, "callbacks": [Checkpoint(tmp_path / "c")]}
    make(StructuralSVM, (), (), **{**options, **first}).fit(*chains)
    make(StructuralSVM, (), (), **{**options, **copy.deepcopy(first)}).fit(*chains)
    with pytest.raises(ValueError, match="belongs to a run with different parameters or data"):
        make(StructuralSVM, (), (), **{**options, **second}).fit(*chains)


def test_a_module_that_starts_elsewhere_may_resume(chains, tmp_path):
    """Its parameters come from the checkpoint."""
    options = {"callbacks": [Checkpoint(tmp_path / "c")], **FAST}
    one, two = (make(StructuralSVM, unary=nn.Linear(3, 3), **options).fit(*chains) for _ in range(2))
    assert torch.equal(parameters(one), parameters(two))


def test_checkpoint_with_other_validation_data_is_refused(chains, tmp_path):
    X, Y = chains
    svm = make(StructuralSVM, (), (), trainer__keep="validation", callbacks=[Checkpoint(tmp_path / "c")], **FAST)
    svm.fit(X, Y, validation=(X[:5], Y[:5]))
    svm.fit(X, Y, validation=(X[:5], [y.tolist() for y in Y[:5]]))
    with pytest.raises(ValueError, match="belongs to a run with different parameters or data"):
        svm.fit(X, Y, validation=(X[5:], Y[5:]))


@pytest.mark.parametrize("every", [0, -1, 1.5, None])
def test_an_unfit_interval_is_refused(every):
    with pytest.raises(ValueError, match=f"every must be an integer ≥ 1, got {every}"):
        Checkpoint("c", every)


def test_callbacks_that_cannot_be_are_refused(chains, tmp_path):
    two = [Checkpoint(tmp_path / "a"), Checkpoint(tmp_path / "b")]
    with pytest.raises(ValueError, match="callbacks must contain at most one Checkpoint, got 2"):
        StructuralSVM((), (), callbacks=two).fit(*chains)
    with pytest.raises(ValueError, match="CuttingPlaneSVM cannot be resumed: callbacks must not contain a Checkpoint"):
        CuttingPlaneSVM(callbacks=two[:1]).fit(*chains)


def test_parts_given_or_left_out_are_the_same_run(chains, tmp_path):
    """A part that says what the defaults say does not make it another run; nor does the number of threads."""
    options = {"callbacks": [Checkpoint(tmp_path / "c")], "max_iter": 3}
    first = StructuralSVM((3,), (), **options).fit(*chains)
    spelt = StructuralSVM(Network((3,)), Network(), trainer=Subgradient(), decoder=Decoder(n_threads=1), **options)
    assert torch.equal(parameters(spelt.fit(*chains)), parameters(first))
