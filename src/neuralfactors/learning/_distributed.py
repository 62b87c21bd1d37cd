"""Training on several processes: graphs are divided among ranks, and sums are shared by all.

Under `torchrun` the process group is set up at the first use; a group that the caller has set up is used as it is.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

logger = logging.getLogger(__name__)
PATIENCE = timedelta(days=2)  # while the first rank describes images; a rank that has died is noticed at once
FAREWELL = timedelta(seconds=10)  # for the others to finish the last message; far more than it takes


@dataclass(frozen=True)
class Ranks:
    """Place of this process among those that train together; alone, it is rank 0 of 1."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls) -> Ranks:
        """The ranks of torch.distributed, which `torchrun` announces, or a single one."""
        if not dist.is_available():
            return cls()
        if not dist.is_initialized():
            if not dist.is_torchelastic_launched():
                return cls()
            _join()
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def leads(self) -> bool:
        """Whether this is the first rank, which alone writes files."""
        return self.rank == 0

    @contextmanager
    def leader_first(self) -> Iterator[None]:
        """Inside, the first rank is done before the others begin: they find what it has written."""
        if not self.leads:
            self.wait()
        yield
        if self.leads:
            self.wait()

    def said_by_leader(self, answer: bool) -> bool:
        """The answer of the first rank, in all of them."""
        return self.any(answer and self.leads)

    def any(self, answer: bool) -> bool:
        """Whether the answer of any rank is yes."""
        count = torch.tensor([float(answer)])
        self.sum_([count])
        return bool(count.item() > 0)

    def share(self, indices: Sequence[int]) -> Sequence[int]:
        """Every size-th of `indices`, beginning with the rank: disjoint, together all."""
        return indices[self.rank :: self.size]

    def warn_of_idle(self, n_graphs: int, batch_size: int | None) -> None:
        """Say so if a larger batch of the `n_graphs` would give work to more ranks."""
        if self.leads and batch_size is not None and batch_size < min(self.size, n_graphs):
            told = "%d of %d ranks are idle, because batch_size is %d: raise it, or use fewer ranks"
            logger.warning(told, self.size - batch_size, self.size, batch_size)

    def sum_(self, tensors: Sequence[Tensor]) -> None:
        """Replace every tensor by its sum over the ranks, in one message."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors]).to(_message_device())
        with _explained():
            dist.all_reduce(flat)
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def wait(self) -> None:
        """Wait for every rank."""
        if self.size > 1:
            with _explained():
                dist.barrier()


@contextmanager
def _explained() -> Iterator[None]:
    """What fails inside is a message to ranks of which one has ended, as a rule."""
    try:
        yield
    except RuntimeError as error:
        told = "another rank has ended or cannot be reached: look for its own message, then continue the run"
        raise RuntimeError(told) from error


def _message_device() -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


def _join() -> None:
    """Set up the group that `torchrun` announces, and leave it when this process ends."""
    store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=PATIENCE, store=store, rank=rank, world_size=size)
    atexit.register(_leave, store, rank, size)


def _leave(store: Any, rank: int, size: int) -> None:
    """Close the connections to the other ranks once none of them is still reading the last message.

    A rank that ended earlier would reset connections from which others have yet to read. They tell each other by the
    store of `torchrun`, and no longer than a moment: a rank that has failed does not answer.
    """
    if not dist.is_initialized():
        return
    # Who ends the ranks does not want to wait for them. The signal may come while the other error is being suppressed.
    with suppress(KeyboardInterrupt), suppress(dist.DistError):
        store.set(f"left/{rank}", "")
        store.wait([f"left/{other}" for other in range(size)], FAREWELL)
    dist.destroy_process_group()
