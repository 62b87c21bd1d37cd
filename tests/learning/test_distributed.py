"""Two processes under torchrun learn what one learns."""

import subprocess
import sys

import pytest
import torch

from neuralfactors.datasets import make_chains
from neuralfactors.estimators import StructuralSVM
from neuralfactors.learning._distributed import Ranks

SCRIPT = """
import os, sys, torch
torch.set_num_threads(1)
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import Checkpoint, Decoder, StructuralSVM, Subgradient
X, Y = make_chains(21, 5, 3)
# In double precision, for a label that rounding flips would be a difference of its own.
trainer = Subgradient(optimizer="sgd", learning_rate=0.02, keep="last", dtype="float64")
svm = StructuralSVM((6,), (4,), C=10.0, batch_size=4, max_iter=5, trainer=trainer, decoder=Decoder(n_threads=1),
                    callbacks=[Checkpoint(sys.argv[1] + ".ckpt")])
svm.fit(X, Y, validation=(X[:5], Y[:5]))
if os.environ.get("RANK", "0") == "0":
    svm.save(sys.argv[1])
"""


def train(folder, launcher):
    """The model that the script saves. On a busy machine torch now and then aborts when a finished rank exits."""
    for attempt in range(3):
        place = folder / str(attempt)
        place.mkdir(parents=True)
        (place / "train.py").write_text(SCRIPT)
        command = [sys.executable, *launcher, str(place / "train.py"), str(place / "model")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        if "terminate called without an active exception" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[-3000:]
    return StructuralSVM.load(place / "model")


def test_two_ranks_equal_one_process(tmp_path):
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    one, two = train(tmp_path / "one", []), train(tmp_path / "two", torchrun)
    for a, b in zip(one.model_.parameters(), two.model_.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
    assert all(parameter.abs().sum() > 0 for parameter in two.model_.unary.parameters())
    for a, b in zip(one.history_, two.history_, strict=True):
        assert abs(a["objective"] - b["objective"]) <= 1e-9 * abs(a["objective"])
        assert a["accuracy"] == b["accuracy"]


def test_shares_are_disjoint_and_complete():
    shares = [Ranks(rank, 3).share(range(10)) for rank in range(3)]
    assert sorted(n for share in shares for n in share) == list(range(10))


class Pretended(Ranks):
    """Ranks without processes."""

    def sum_(self, tensors):
        pass


def test_ranks_without_a_graph_are_told(caplog, monkeypatch):
    told = "1 of 3 ranks are idle, because batch_size is 2: raise it, or use fewer ranks"
    for size, n_graphs, expected in ((2, 4, []), (3, 2, []), (3, 4, [told])):
        monkeypatch.setattr(Ranks, "current", lambda size=size: Pretended(0, size))
        StructuralSVM((), (), batch_size=2, max_iter=1).fit(*make_chains(n_graphs, 3, 2))
        assert caplog.messages == expected


def test_a_message_that_fails_is_explained(monkeypatch):
    def fail(*_):
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr("torch.distributed.all_reduce", fail)
    monkeypatch.setattr("torch.distributed.barrier", fail)
    monkeypatch.setattr("torch.distributed.get_backend", lambda: "gloo")
    for call in (lambda: Ranks(0, 2).sum_([torch.ones(2)]), Ranks(0, 2).wait):
        with pytest.raises(RuntimeError, match="another rank has ended or cannot be reached") as caught:
            call()
        assert "peer" in str(caught.value.__cause__)


def test_alone_nothing_is_sent():
    ranks = Ranks.current()
    assert (ranks.rank, ranks.size) == (0, 1)
    tensor = torch.ones(3)
    ranks.sum_([tensor])
    ranks.wait()
    assert tensor.tolist() == [1.0, 1.0, 1.0]
