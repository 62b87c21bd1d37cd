"""Subgradient descent on the structured hinge with inference in the loop: Algorithms 1 and 2 of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.factors import Factor
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.layers import Workspace
from neuralfactors.learning._decode import Decoder
from neuralfactors.learning._distributed import Ranks
from neuralfactors.learning._hinge_subgradient import Clock, Totals, accumulate, accumulate_cross_entropy
from neuralfactors.learning._history import Callback, Record, make_record, tell
from neuralfactors.learning._iterates import Iterates, copy_values
from neuralfactors.learning._optimizers import (
    drop_dust,
    is_untouched,
    learning_rate_factor,
    make_optimizer,
    refuse_divergence,
)
from neuralfactors.learning._subgradient import TrainingSettings
from neuralfactors.learning._threads import Workload
from neuralfactors.learning._training_graphs import Samples
from neuralfactors.learning._training_warnings import LEARNT, constant_hinge

PARTS = ("unary", "interaction")
IMPROVEMENT = 1e-4  # share of a value by which a better one must be better, where training waits for it


@dataclass
class Progress:
    """Where a run stands: what a checkpoint holds besides parameters and optimiser."""

    epoch: int = 0
    best: float | None = None  # of the value that is monitored; lower is better
    best_epoch: int = 0
    done: bool = False
    history: list[Record] = field(default_factory=list)


class Descent:
    """Trains a model on samples, an epoch at a time, so that it can be stopped and continued between any two."""

    def __init__(
        self, model: FactorModel, settings: TrainingSettings, decoder: Decoder, class_weight: Tensor | None = None
    ) -> None:
        self.model, self.settings, self.decoder, self.class_weight = model, settings, decoder, class_weight
        self.ranks = Ranks.current()
        self.groups = self._parameter_groups()
        self.bounded = [part for part in model.modules() if isinstance(part, Factor) and part.weight_signs is not None]
        self.parameters = [parameter for group in self.groups for parameter in group["params"]]
        self.optimizer = make_optimizer(settings.trainer.optimizer, [dict(group) for group in self.groups])
        self.iterates = Iterates(model, self.parameters, settings.trainer.averaging)
        self.progress = Progress()
        # The last loss of a trained iterate, that of equal scores, and whether it is a hinge and all nodes count alike.
        self.reached: tuple[float, float, bool] | None = None
        self.untrained: float | None = None  # objective at the start, where it is known
        self.workspace, self.workload = Workspace(), Workload(model)

    def _parameter_groups(self) -> list[dict[str, Any]]:
        """The factors' parameters with their rates and their C, as optimisers take them."""
        groups, trainer = [], self.settings.trainer
        for k, part in enumerate(PARTS):
            factor = getattr(self.model, part)
            params = [] if factor is None else [p for p in factor.parameters() if p.requires_grad]
            if params:
                own = {"lr": trainer.learning_rates[k], "momentum": trainer.momenta[k], "C": self.settings.C[k]}
                groups.append({"params": params, **own, "part": part})
        return groups

    def serves(self, settings: TrainingSettings) -> bool:
        """Whether the state of the optimiser, and the average, are what `settings` need."""

        def kept(s: TrainingSettings) -> tuple[Any, ...]:
            return s.trainer.optimizer, s.trainer.averaging, [value > 0 for value in s.trainer.momenta]

        return kept(settings) == kept(self.settings)

    def adopt(self, settings: TrainingSettings, decoder: Decoder, class_weight: Tensor | None) -> None:
        """Continue with other settings, which this descent must serve; the optimiser keeps its state."""
        self.settings, self.decoder, self.class_weight = settings, decoder, class_weight
        self.groups = self._parameter_groups()
        for group, running in zip(self.groups, self.optimizer.param_groups, strict=True):
            running.update({name: value for name, value in group.items() if name in running and name != "params"})

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return self.progress.epoch

    def run(
        self,
        samples: Samples,
        evaluate: Callable[[], float] | None = None,
        callbacks: Sequence[Callback] = (),
        after_epoch: Callable[[Descent], None] | None = None,
    ) -> None:
        """Train until `max_iter` epochs are done or nothing improves, then put the iterate to keep into the model.

        `evaluate` returns the accuracy of the model on validation data, as it stands. Each of `callbacks` gets the
        record of every epoch, and ends the training by returning True. `after_epoch` gets this object after every
        epoch, for instance to write a checkpoint.
        """
        while not self.progress.done and self.epoch < self.settings.max_iter:
            record = self.run_epoch(samples, evaluate)
            stop = tell(callbacks, record) if self.ranks.leads else False
            self.progress.done = self.ranks.any(stop or self._stale()) or self.epoch >= self.settings.max_iter
            if after_epoch is not None:
                after_epoch(self)
        self._judge_last(samples)
        self.finish()

    def run_epoch(self, samples: Samples, evaluate: Callable[[], float] | None = None) -> Record:
        """Pass once over all graphs; the record of that pass."""
        self.iterates.hide_average()
        batches = self._batches(len(samples))
        # With one step an epoch, the sums are those of the parameters at its start: the objective itself. With more,
        # the parameters move meanwhile, and the sums are an estimate for those at its end.
        start = self.iterates.copy() if len(batches) == 1 else None
        totals = Totals()
        regulariser = self.regulariser()
        with seeded(self.settings.seed, self.epoch), training(self.model):
            for k, batch in enumerate(batches):
                self.step(samples, batch, 1.0 + self.epoch + k / len(batches), totals)
        self._sum_over_ranks(totals)
        if start is None:
            regulariser = self.regulariser()
        self.progress.epoch += 1
        accuracy = self._evaluate(evaluate)
        record = make_record(self.epoch, totals, regulariser, self.settings.C[0], accuracy, self.settings.loss)
        self.progress.history.append(record)
        if start is not None and self.epoch == 1:
            self.untrained = record["objective"]
        else:
            self._note(totals)
        self._judge(record, start)
        return record

    def step(self, samples: Samples, indices: Sequence[int], t: float, totals: Totals) -> None:
        """One update from the graphs of `indices`."""
        clock = Clock(totals.seconds)
        self.differentiate(samples, indices, totals, clock)
        with self.workload.threads():
            self.update(len(indices), t)
        clock.lap("update")

    def differentiate(self, samples: Samples, indices: Sequence[int], totals: Totals, clock: Clock) -> None:
        """Sum the gradients of the graphs of `indices` chunk by chunk."""
        self.optimizer.zero_grad(set_to_none=False)
        reference = self.parameters[0]
        for chunk in samples.chunks(self.ranks.share(indices)):
            batch, y = samples.batch(chunk, reference.dtype)
            batch, y = batch.to(reference.device), y.to(reference.device)
            clock.lap("read")
            with self.workload.threads(batch):
                self.accumulate(batch, y, totals, clock, samples.weights(chunk))

    def accumulate(
        self, batch: GraphBatch, y: Tensor, totals: Totals, clock: Clock, weight: Tensor | None = None
    ) -> None:
        """Add the gradient of the loss of `batch`, its graphs by their `weight` (G,), to that of the parameters."""
        if self.settings.loss == "cross-entropy":
            accumulate_cross_entropy(self.model, batch, y, totals, clock, self.class_weight, weight)
            return
        accumulate(
            self.model, batch, y, self.decoder, totals, clock, class_weight=self.class_weight,
            augment=self.settings.loss == "hinge", void=self.settings.void, few_labels=self.settings.few_labels,
            workspace=self.workspace, weight=weight,
        )  # fmt: skip

    def update(self, n_graphs: int, t: float) -> None:
        """Turn summed hinge gradients g into θ + C g / N and let the optimiser step with the rate of pass t."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.ranks.sum_([parameter.grad for parameter in self.parameters if parameter.grad is not None])
        trainer = self.settings.trainer
        factor = learning_rate_factor(trainer.schedule, t, trainer.t0, self.settings.max_iter)
        for group, running in zip(self.groups, self.optimizer.param_groups, strict=True):
            running["lr"] = group["lr"] * factor
            for parameter in group["params"]:
                if is_untouched(self.optimizer, parameter):
                    parameter.grad = None
                    continue
                parameter.grad.mul_(group["C"] / n_graphs)
                if self.settings.regularise:
                    parameter.grad.add_(parameter.detach())
        self.optimizer.step()
        for bounded in self.bounded:
            bounded.impose_signs()
        drop_dust(self.parameters)
        refuse_divergence(self.parameters)
        if self.iterates.average is not None:
            self.iterates.average.update(self.parameters)

    def regulariser(self) -> float:
        """½‖θ‖² + ½ (C / C_interaction) ‖γ‖², which is R(w) of Eq. (6) where both share one C."""
        if not self.settings.regularise:
            return 0.0
        total = 0.0
        for group in self.groups:
            squares = sum(float(p.detach().double().square().sum()) for p in group["params"])
            total += 0.5 * squares * self.settings.C[0] / group["C"]
        return total

    def finish(self) -> None:
        """Put the average, the best or the last iterate into the model, whichever the settings ask for."""
        if self.settings.trainer.keep == "validation" or self._by_objective:
            self.iterates.show_best()
        else:
            self.iterates.show_average()

    @property
    def _by_objective(self) -> bool:
        """Whether the best iterate by the objective is kept; an average of all takes its place."""
        return self.settings.trainer.keep == "objective" and self.iterates.average is None

    def _sum_over_ranks(self, totals: Totals) -> None:
        numbers = totals.numbers()
        self.ranks.sum_([numbers])
        totals.replace(numbers)

    def _batches(self, n_graphs: int) -> list[Sequence[int]]:
        if self.settings.batch_size is None:
            return [range(n_graphs)]
        order = np.random.default_rng([self.settings.seed, self.epoch]).permutation(n_graphs).tolist()
        size = self.settings.batch_size
        return [order[k : k + size] for k in range(0, n_graphs, size)]

    def _evaluate(self, evaluate: Callable[[], float] | None) -> float | None:
        if evaluate is None:
            return None
        self.iterates.show_average()
        accuracy = evaluate()
        self.iterates.hide_average()
        return accuracy

    def _judge_last(self, samples: Samples) -> None:
        """Decide between the best iterate and the last one by the objective itself.

        With one step an epoch, the value of the best is known, and the last one has none yet: no epoch begins with it.
        With more, both have estimates only.
        """
        if not self._by_objective:
            return
        several, best = len(self._batches(len(samples))) > 1, self.progress.best
        with self.iterates.restored() as last:
            if several:
                if all(map(torch.equal, last, self.iterates.best_values)):
                    return
                copy_values(self.iterates.best_values, self.parameters)
                best = self._objective(samples)
                copy_values(last, self.parameters)
            value = self._objective(samples)
        if best is None or value < best:
            self.progress.best, self.progress.best_epoch = value, self.epoch
            self.iterates.remember(last)

    def _note(self, totals: Totals) -> None:
        if self.settings.loss != "perceptron":  # whose loss is zero for constant scores
            each = math.log(self.model.n_labels) if self.settings.loss == "cross-entropy" else 1.0
            graphs = max(1.0, totals.graphs)
            alike = self.settings.loss == "hinge" and totals.unlike == 0
            self.reached = totals.loss / graphs, each * totals.costs / graphs, alike

    def shortfall(self, samples: Samples) -> str | None:
        """A sentence if constant scores were about as good; None if training has learned more, or nobody knows."""
        if self.reached is None:
            return None
        (loss, constant, alike), best, start = self.reached, self.progress.best, self.untrained
        constant = min(constant, constant_hinge(samples)) if alike else constant
        if constant > 0 and loss > LEARNT * constant:
            told = f"a mean {self.settings.loss} of {loss:.6g}, where constant scores would give {constant:.6g}"
        elif self._by_objective and start is not None and best is not None and best >= start:
            told = f"an objective of {best:.6g}, no better than at the start, {start:.6g}"
        else:
            return None
        return f"training ended with {told}: try another learning_rate, a higher max_iter or C, or scaled features"

    def _objective(self, samples: Samples) -> float:
        """Eq. (6) for the parameters as they stand."""
        totals = Totals()
        with seeded(self.settings.seed, self.epoch), training(self.model):
            self.differentiate(samples, range(len(samples)), totals, Clock(totals.seconds))
        self._sum_over_ranks(totals)
        self._note(totals)
        return self.regulariser() + float(self.settings.C[0]) * totals.loss / max(1.0, totals.graphs)

    def _judge(self, record: Record, start: list[Tensor] | None) -> None:
        """Remember the iterate that `record` is about if none was better; `start` is where a single step began."""
        accuracy = record["accuracy"] if self.settings.trainer.keep == "validation" else None
        by_validation = accuracy is not None
        if start is not None and self.epoch == 1 and not by_validation:
            return  # the objective is that of the parameters that training began with, which are none of its iterates
        value = record["objective"] if accuracy is None else -accuracy
        best = self.progress.best
        margin = 0.0 if best is None else IMPROVEMENT * abs(best)
        if best is None or value < best - margin:
            self.progress.best_epoch = self.epoch
        if best is None or value < best:
            self.progress.best = value
            if by_validation:
                self.iterates.remember()
            else:
                self.iterates.remember(self.parameters if start is None else start)

    def _stale(self) -> bool:
        patience = self.settings.trainer.patience
        return patience is not None and self.epoch - self.progress.best_epoch >= patience


@contextmanager
def training(model: nn.Module) -> Iterator[None]:
    """`model` in training mode; afterwards, whatever happens, it is in evaluation mode, as predictions need it."""
    model.train()
    try:
        yield
    finally:
        model.eval()


@contextmanager
def seeded(seed: int, epoch: int) -> Iterator[None]:
    """Random numbers of this epoch alone; torch's own generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
        yield
