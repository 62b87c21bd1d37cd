"""Threads of torch, only where there is work for them.

Torch hands matrix products, sums by index and steps of optimisers to all its threads, however small they are. With
small graphs that takes ten times as long as the work itself, and far more where other programs keep the cores busy.

A process that was forked, as by joblib's backend "multiprocessing", has none of the threads of its parent, and GNU's
OpenMP would wait for them for ever. So it has one, as the workers of torch's DataLoader do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.graph_batch import GraphBatch

if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

ENOUGH = 2**22  # products: a fraction of a millisecond on one core


class Workload:
    """How much the steps of a training loop have to compute."""

    def __init__(self, model: FactorModel) -> None:
        self.per_node, self.per_edge = model.products_per_row()
        self.products = float("inf")  # of the last batch

    @contextmanager
    def threads(self, batch: GraphBatch | None = None) -> Iterator[None]:
        """Use one thread of torch inside, unless `batch`, or the last one, has enough to compute for all of them."""
        if batch is not None:
            self.products = batch.n_nodes * self.per_node + batch.n_edges * self.per_edge
        with nullcontext() if self.products >= ENOUGH else one_thread():
            yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread of torch inside."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
