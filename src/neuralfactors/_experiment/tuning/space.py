"""Where settings are searched: ranges of parameters around those of a row, and what is drawn in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats.qmc import Halton
from sklearn.pipeline import Pipeline

from neuralfactors._common.parameters import Parameter
from neuralfactors._experiment.variants import BALANCE
from neuralfactors.estimators import StructuredEstimator
from neuralfactors.segmentation._defaults import BALANCE as USUAL_BALANCE

# How far a search goes up and down from the present values of the unary and the interaction factor.
DECADES = {
    ("C", "interaction_C"): 1.5,
    ("trainer__learning_rate", "trainer__interaction_learning_rate"): 1.0,
}
RANGES = {"t0": (0.1, 100.0), "drag": (0.01, 1.0)}  # drag is 1 − momentum
DROPOUTS = ("unary__dropout", "interaction__dropout")
WITH_MOMENTUM = ("sgd", "rmsprop")
FINE = 0.1  # standard deviation of fine draws about the best coarse one, in lengths of the ranges


@dataclass(frozen=True)
class Dimension:
    """A parameter, its range, which is logarithmic unless it begins at 0, and the value that it has now."""

    name: str
    low: float
    high: float
    now: float
    mirrored: bool = False  # whether the range is that of 1 − the value

    def value(self, place: float) -> float:
        """The value at `place`, from 0 to 1, to three digits."""
        drawn = self.low * (self.high / self.low) ** place if self.low > 0 else place * self.high
        return float(f"{1 - drawn if self.mirrored else drawn:.3g}")

    @property
    def place(self) -> float:
        """Where the present value is, from 0 to 1."""
        inside = min(max(1 - self.now if self.mirrored else self.now, self.low), self.high)
        return math.log(inside / self.low, self.high / self.low) if self.low > 0 else inside / self.high


def dimensions(
    model: StructuredEstimator | Pipeline, balance: float | None, wanted: Sequence[str] | None = None
) -> list[Dimension]:
    """What to search for `model`: C and learning rate of both kinds of factors, t₀, momentum, balance of classes.

    The last stage of a pipeline is searched, around the values that it has. `wanted` are names among those above and
    dropout; None: all but dropout. t₀ matters to the inverse schedule only, momentum to optimisers that have it.
    """
    stage = model[-1] if isinstance(model, Pipeline) else model
    known = stage.plain_params()
    if "interaction__hidden" not in known:
        known = {name: value for name, value in known.items() if "interaction" not in name}
    found = [
        *_scaled(known),
        *_schedule(known),
        Dimension(BALANCE, 0.0, 1.0, USUAL_BALANCE if balance is None else balance),
    ]
    optional = [Dimension(name, 0.0, 0.5, known[name]) for name in DROPOUTS if name in known]
    if wanted is None:
        return found
    by_name = {dimension.name: dimension for dimension in (*found, *optional)}
    for name in wanted:
        if name not in by_name:
            raise ValueError(f"search must name some of {', '.join(by_name)}, got {name!r}")
    return [by_name[name] for name in dict.fromkeys(wanted)]


def _scaled(known: Mapping[str, Parameter]) -> list[Dimension]:
    return [
        _around(name, known[names[0]] if known[name] is None else known[name], decades)
        for names, decades in DECADES.items()
        for name in names
        if name in known
    ]


def _around(name: str, value: Parameter, decades: float) -> Dimension:
    now = _number(name, value)
    return Dimension(name, now / 10**decades, now * 10**decades, now)


def _number(name: str, value: Parameter) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number to search around, got {value!r}")
    return value


def _schedule(known: Mapping[str, Parameter]) -> list[Dimension]:
    inverse = known.get("trainer__schedule") == "inverse"
    found = [Dimension("trainer__t0", *RANGES["t0"], _number("trainer__t0", known["trainer__t0"]))] if inverse else []
    if known.get("trainer__optimizer") in WITH_MOMENTUM:
        for name in ("trainer__momentum", "trainer__interaction_momentum"):
            now = known["trainer__momentum"] if known[name] is None else known[name]
            found.append(Dimension(name, *RANGES["drag"], _number(name, now), mirrored=True))
    return found


@dataclass(frozen=True)
class Plan:
    """Trials of a search, the same for the same seed: the present settings, coarse draws, then fine ones.

    Trial 0 changes nothing. The fine third of the trials is drawn about the best of the others.
    """

    space: Sequence[Dimension]
    n_trials: int
    seed: int

    @property
    def n_coarse(self) -> int:
        """How many trials do not depend on others."""
        return self.n_trials - self.n_trials // 3

    def stage(self, number: int) -> str:
        """Which of the two trial `number` is, "coarse" or "fine"."""
        return "coarse" if number < self.n_coarse else "fine"

    def parameters(self, number: int, best: int | None = None) -> dict[str, float]:
        """The changes of trial `number`; a fine one needs the number of the `best` coarse one."""
        if number == 0:
            return {}
        places = self._places(number, best)
        return {dimension.name: dimension.value(place) for dimension, place in zip(self.space, places, strict=True)}

    def _places(self, number: int, best: int | None) -> NDArray[np.float64]:
        """Where trial `number` lies: spread over the space, or about the coarse trial `best`."""
        if number < self.n_coarse or best is None:
            # A sequence that leaves no gaps: by chance alone, the few trials of a small search would lie together.
            places: NDArray[np.float64] = Halton(len(self.space), seed=self.seed).fast_forward(number - 1).random(1)[0]
            return places
        assert best < self.n_coarse, "the place of a fine trial depends on yet another one"
        random = np.random.default_rng([self.seed, number])
        centre = np.array([d.place for d in self.space]) if best == 0 else self._places(best, None)
        return np.clip(centre + FINE * random.standard_normal(len(self.space)), 0.0, 1.0)
