"""Small steps run on one thread of torch, large ones on all, and the number is as before afterwards."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from neuralfactors import FactorModel, Graph, GraphBatch, Network, StructuralSVM
from neuralfactors._core.factor_model import BatchModel
from neuralfactors._core.typed_model import TypedModel
from neuralfactors.learning import _threads
from neuralfactors.learning._threads import Workload


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def model(hidden=()):
    return FactorModel(Network(hidden).build(4, 3), Network(bias=False).build(2, 3, order=2), 3)


BATCH = GraphBatch.from_graphs([Graph(torch.zeros(10, 4), [[0, 1], [1, 2]], torch.zeros(2, 2))])


def test_work_is_rows_times_parameters():
    load = Workload(model())
    with load.threads(BATCH):
        assert torch.get_num_threads() == 1
    assert load.products == 10 * 15 + 2 * 18
    assert torch.get_num_threads() == 2
    with load.threads():  # as much as the last batch
        assert torch.get_num_threads() == 1


def test_much_work_gets_all_threads(monkeypatch):
    monkeypatch.setattr(_threads, "ENOUGH", 186)
    with Workload(model()).threads(BATCH):
        assert torch.get_num_threads() == 2
    with Workload(model()).threads():  # nothing is known yet
        assert torch.get_num_threads() == 2


def test_threads_come_back_after_an_error():
    with pytest.raises(RuntimeError), Workload(model()).threads(BATCH):
        raise RuntimeError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (FactorModel(nn.Linear(4, 3), None, 3), (15.0, 0.0)),
        (FactorModel(nn.Conv1d(1, 1, 3), None, 3), (float("inf"), 0.0)),
        (BatchModel(nn.Bilinear(1, 1, 3), 3), (float("inf"), 0.0)),
        (TypedModel([nn.Linear(1, 2), nn.Linear(1, 3)], {(0, 1): nn.Linear(0, 6)}, [2, 3]), (6.0, 6.0)),
        (TypedModel([nn.Linear(1, 2)], {}, [2]), (4.0, 0.0)),
    ],
)
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_modules_of_unknown_work_get_all_threads(made, expected):
    assert made.products_per_row() == expected


def test_training_uses_one_thread_for_small_graphs():
    seen = []

    class Watching(nn.Linear):
        def forward(self, features):
            seen.append(torch.get_num_threads())
            return super().forward(features)

    X, Y = [Graph([[1.0], [-1.0]], [[0, 1]])] * 4, [[1, 0]] * 4
    StructuralSVM(Watching(1, 2), (), max_iter=1).fit(X, Y)
    assert set(seen) == {2}  # of which nothing is known
    svm = StructuralSVM((), (), max_iter=1, callbacks=[lambda _: seen.append(torch.get_num_threads())]).fit(X, Y)
    assert svm.descent_.workload.products < _threads.ENOUGH
    assert seen[-1] == 2


FORKED = """
import multiprocessing, torch
from neuralfactors import StructuralSVM
from neuralfactors.datasets import make_chains
torch.set_num_threads(2)
torch.randn(2_000_000).exp().sum()  # OpenMP has threads now, which no forked process has
X, Y = make_chains(40, 30, 3)
def learn(n):
    return StructuralSVM((64,), (), max_iter=1, batch_size=None).fit(X, Y).score(X, Y), torch.get_num_threads()
print(multiprocessing.get_context("fork").Pool(1).map_async(learn, [0]).get(100))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only systems that fork have forked processes")
def test_forked_processes_do_not_wait_for_threads_that_they_lack():
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.endswith(", 1)]\n")
