"""How a training run is reported: records of its epochs, a progress bar, TensorBoard."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypedDict, cast

import numpy as np

from neuralfactors.learning._hinge_subgradient import Totals

Record = TypedDict(
    "Record",
    {
        "epoch": int,
        "objective": float,  # Eq. (6)
        # The mean loss of a graph, under the name of the loss that is minimised.
        "hinge": float,
        "perceptron": float,
        "cross-entropy": float,
        "gap": float | None,  # by how much, at most, that is too low for inference being approximate
        # Shares of graphs: inference proved optimal; proved or within its tolerance; violation below zero.
        "optimal": float,
        "within_tol": float,
        "negative": float,
        "differing": float,  # share of labelled nodes at which z and y differ
        "accuracy": float | None,  # on the validation data, if there are any
        "seconds": dict[str, float],  # by part
        # Of learners that know their duality gap.
        "dual": float,
        "duality_gap": float | None,
        "constraints": int,
    },
    total=False,
)
Callback = Callable[[Record], Any]


def make_record(
    epoch: int, totals: Totals, regulariser: float, C: float, accuracy: float | None, loss: str = "hinge"
) -> Record:
    """The record of an epoch: means over its graphs, that of the loss under the name `loss`.

    The `regulariser`, ½‖w‖², is that at the end of the epoch, or at its start where it is a single step.
    """
    graphs, labelled = max(1.0, totals.graphs), max(1.0, totals.labelled)
    mean = totals.loss / graphs
    record = {
        "epoch": epoch,
        "objective": regulariser + C * mean,
        loss: mean,
        "gap": totals.gap / graphs if math.isfinite(totals.gap) else None,
        "optimal": totals.optimal / graphs,
        "within_tol": totals.within_tol / graphs,
        "negative": totals.negative / graphs,
        "differing": totals.differing / labelled,
        "accuracy": accuracy,
        "seconds": {part: round(seconds, 6) for part, seconds in totals.seconds.items()},
    }
    return cast(Record, record)


class ProgressBar:
    """Callback that shows a rich progress bar: `title`, which says what is learning, and the objective."""

    def __init__(self, max_iter: int, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.title = title
        self.progress = Progress(*columns, console=Console(stderr=True))  # the other stream is for data
        self.task = self.progress.add_task(title, total=max_iter)
        self.progress.start()

    def __call__(self, record: Record) -> None:
        """Advance to the epoch of `record`."""
        told = f"{self.title}: objective {record['objective']:.6g}"
        if record.get("accuracy") is not None:
            told += f"  accuracy {record['accuracy']:.4f}"
        self.progress.update(self.task, completed=record["epoch"], description=told)

    def close(self) -> None:
        """Leave the bar as it stands."""
        self.progress.stop()


class TensorBoard:
    """Callback that writes the numbers of every record to a TensorBoard log.

    Parameters
    ----------
    folder : path
        Where the log goes; TensorBoard shows it with ``tensorboard --logdir FOLDER``.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if find_spec("tensorboard") is None:
            raise ImportError("tensorboard must be installed to write its logs: pip install tensorboard")
        self.folder = os.fspath(folder)
        self.writer: Any = None  # made for the first record, so that estimators with this callback can be copied

    def __call__(self, record: Record) -> None:
        """Write the numbers of `record` at its epoch."""
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(self.folder)
        for name, value in _flatten(record):
            self.writer.add_scalar(name, value, record["epoch"])

    def close(self) -> None:
        """Flush the log to disk."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None


def tell(callbacks: Sequence[Callback], record: Record) -> bool:
    """Call every callback with `record`; whether one of them returned True, which asks to stop."""
    answers = [callback(record) for callback in callbacks]
    return any(isinstance(answer, (bool, np.bool_)) and bool(answer) for answer in answers)


@contextmanager
def closing(callbacks: Sequence[Callback]) -> Iterator[None]:
    """Close the callbacks that can be closed, however the work inside ends."""
    try:
        yield
    finally:
        for callback in callbacks:
            if hasattr(callback, "close"):
                callback.close()


def _flatten(record: Mapping[str, object], prefix: str = "") -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, value in record.items():
        if isinstance(value, dict):
            found += _flatten(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and name != "epoch":
            found.append((prefix + name, float(value)))
    return found
