"""Which iterate of a run ends up in the model: the best one, the last one, or an average of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from neuralfactors.learning._optimizers import Average


class Iterates:
    """The best iterate so far and the average of all, beside the one that the optimiser moves."""

    def __init__(self, model: nn.Module, parameters: Sequence[Tensor], averaging: str | None) -> None:
        self.model, self.parameters = model, parameters
        self.average = None if averaging is None else Average(averaging, parameters)
        self.own_values: list[Tensor] | None = None  # the optimiser's iterate while the model shows the average
        self.best_values = [parameter.detach().clone() for parameter in parameters]
        self.best_buffers = [buffer.detach().clone() for buffer in self.buffers]

    @property
    def buffers(self) -> list[Tensor]:
        """What the model keeps besides parameters, such as the running means of batch normalisation."""
        # Asked for each time: a module may put another tensor in the place of one.
        kept = self.model.state_dict(keep_vars=True).values()
        return [value for value in kept if isinstance(value, Tensor) and not isinstance(value, nn.Parameter)]

    def copy(self) -> list[Tensor]:
        """The parameters as they stand."""
        return [parameter.detach().clone() for parameter in self.parameters]

    def remember(self, values: Sequence[Tensor] | None = None) -> None:
        """Make `values`, or what the model would be judged by, the best iterate."""
        if values is None:
            values = self.parameters if self.average is None else self.average.values
        copy_values(values, self.best_values)
        copy_values(self.buffers, self.best_buffers)  # as the epoch leaves them: its passes saw `values`, or nearly

    def show_best(self) -> None:
        """Put the best iterate into the model."""
        copy_values(self.best_values, self.parameters)
        copy_values(self.best_buffers, self.buffers)

    def show_average(self) -> None:
        """Put the average, if there is one, into the model; buffers are not averaged, and stay those of the last epoch.

        The next epoch continues from the optimiser's own iterate.
        """
        if self.average is not None:
            self.own_values = self.copy()
            copy_values(self.average.values, self.parameters)

    def hide_average(self) -> None:
        """Put the optimiser's own iterate back into the model."""
        if self.own_values is not None:
            copy_values(self.own_values, self.parameters)
            self.own_values = None

    @contextmanager
    def restored(self) -> Iterator[list[Tensor]]:
        """The present parameters; afterwards they and the buffers are put back, whatever was tried between."""
        values, buffers = self.copy(), [buffer.detach().clone() for buffer in self.buffers]
        try:
            yield values
        finally:
            copy_values(values, self.parameters)
            copy_values(buffers, self.buffers)


@torch.no_grad()
def copy_values(values: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
    """Copy every value into its target, in place."""
    for value, target in zip(values, targets, strict=True):
        target.copy_(value)
