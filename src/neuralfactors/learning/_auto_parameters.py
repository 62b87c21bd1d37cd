"""What "auto" stands for in the parameters of learners, once the training data are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from neuralfactors.learning._losses import AUTO
from neuralfactors.learning._subgradient import TrainingSettings
from neuralfactors.learning._training_graphs import Samples

PREFIXES = ("", "interaction_")  # of the parameters of the two factors
CHOSEN = ("C", "interaction_C", "learning_rate", "interaction_learning_rate", "batch_size", "max_iter")
# Single points need C = N, the C = 1 of scikit-learn. With that, words and large graphs are overfitted, as the hinge of
# a graph grows with its nodes; divided by all of them, it is too small to learn interactions on grids.
MAX_DIVISOR = 4.0
# A network can learn a few labels of a large graph by heart, and then leaves nothing to the interactions.
MAX_DIVISOR_FEW = 20.0
STEPS_PER_EPOCH, MAX_BATCH = 50, 64
STEPS, LEAST_STEPS, LEAST_EPOCHS = 1500, 100, 10
MAX_VISITS = 2e6  # nodes that all epochs together pass over: large graphs, whose inference takes long, get fewer steps
STEP = 0.02  # how far Adam moves a weight of a linear factor at most


def auto_C(samples: Samples) -> float:
    """N/k for N graphs of k labelled nodes on average, where k counts up to 4, or 20 if most nodes are completed."""
    n_labelled = float(samples.class_counts().sum()) / len(samples)
    return len(samples) / min(max(n_labelled, 1.0), MAX_DIVISOR_FEW if samples.few_labels else MAX_DIVISOR)


def auto_batch_size(n_graphs: int) -> int:
    """Graphs a step: a fiftieth of them, at most 64."""
    return min(MAX_BATCH, math.ceil(n_graphs / STEPS_PER_EPOCH))


def auto_max_iter(samples: Samples, batch_size: int | None) -> int:
    """Epochs for 1500 steps, or for two million nodes where these are fewer; at least 10 epochs and 100 steps."""
    steps = math.ceil(len(samples) / (batch_size or len(samples)))  # an epoch
    wanted = min(STEPS / steps, MAX_VISITS / max(1, sum(len(y) for y in samples.Y)))
    return math.ceil(max(wanted, LEAST_EPOCHS, LEAST_STEPS / steps))


def auto_learning_rate(optimizer: Any, n_hidden: int, C: float, momentum: float) -> float:
    """The rate at which the `optimizer` moves weights about as fast as Adam: deeper factors more slowly."""
    step = STEP / (1 + n_hidden)
    if optimizer == "sgd":  # which does not normalise a gradient that grows with C
        return step / (step + C)
    if optimizer == "rmsprop":  # which adds up 1 / (1 − momentum) steps
        return step * (1 - momentum)
    return 20 * step if optimizer == "adagrad" else step  # which slows down by itself


def resolve(
    settings: TrainingSettings, samples: Samples, known: Mapping[str, float | None] | None = None
) -> TrainingSettings:
    """The settings with numbers in place of "auto", which suit the training data.

    Numbers of an earlier run, `known` by the names of `CHOSEN`, win: `partial_fit` keeps to its first choice.
    """

    def choose(name: str, value: Any, rule: Callable[..., float], *arguments: Any) -> Any:
        if value != AUTO:
            return value
        return known[name] if known and name in known else rule(*arguments)

    trainer = settings.trainer
    size = choose("batch_size", settings.batch_size, auto_batch_size, len(samples))
    max_iter = choose("max_iter", settings.max_iter, auto_max_iter, samples, size)
    Cs, rates = [], []
    for prefix, C, rate, n_hidden, momentum in zip(
        PREFIXES, settings.C, trainer.learning_rates, settings.n_hidden, trainer.momenta, strict=True
    ):
        Cs.append(choose(f"{prefix}C", C, auto_C, samples))
        how = (trainer.optimizer, n_hidden, Cs[-1], momentum)
        rates.append(choose(f"{prefix}learning_rate", rate, auto_learning_rate, *how))
    trainer = replace(trainer, learning_rate=rates[0], interaction_learning_rate=rates[1])
    sizes = {"batch_size": size, "max_iter": max_iter}
    return replace(settings, trainer=trainer, C=tuple(Cs), few_labels=samples.few_labels, **sizes)


def by_name(settings: TrainingSettings) -> dict[str, float | None]:
    """The settings that may have been "auto", by the names of the parameters, which are `CHOSEN`."""
    values = (*settings.C, *settings.trainer.learning_rates, settings.batch_size, settings.max_iter)
    return dict(zip(CHOSEN, values, strict=True))
