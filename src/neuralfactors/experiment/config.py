"""What a run is to do: everything that decides its result, as JSON can hold it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuralfactors.experiment.variants import ALL_ROWS, BALANCE, VARIANTS, check_parameters, row_name

KINDS = ("train", "compare", "demo", "tune")


@dataclass(frozen=True)
class RunConfig:
    """A run: rows of the paper's table, trained on one set of images with the same features.

    Parameters
    ----------
    data : str
        Folder that `ImageFolder` reads.
    rows : sequence of str
        Keys of `VARIANTS`.
    kind : str
        "train", "compare", "demo" or "tune": what reports call it.
    features : mapping
        Options of `FeatureSettings`.
    parameters : mapping
        Changes of the estimators' parameters by row; those under ``"*"`` are for all rows that have the parameter.
        "balance" among them is that of the `Segmenter`.
    balance : float
        That of rows for which neither `parameters` nor the variant says anything; see `Segmenter`.
    train_split, val_split, test_split : str
        What to learn from, to follow the training by, and to evaluate the result on; None: not done.
    holdout : int
        Number of images of `train_split`, drawn by `seed`, that are not learnt from: they are the split "holdout",
        which takes the place of `val_split`.
    limits : mapping
        Number of training images by row, ``"*"`` for all others: so many are drawn by `seed`; 0 is no limit.
    mirror : bool
        Whether rows learn from the mirror images of the training images too.
    void, drop : sequence of str
        See `ImageFolder`.
    seed : int
    preset : str
    n_examples : int
        How many images of the evaluated split are kept in the run folder, with all rows' predictions.
    split_seed : int
        Seed of the random split of images that have no splits; None: `seed`.
    """

    data: str
    rows: tuple[str, ...] = ("int+nrl",)
    kind: str = "train"
    features: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    balance: float = 0.0
    train_split: str = "train"
    val_split: str | None = "val"
    test_split: str | None = "val"
    holdout: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    mirror: bool = False
    void: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    seed: int = 0
    preset: str | None = None
    n_examples: int = 12
    split_seed: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "void", "drop"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "rows", tuple(row_name(row) for row in self.rows))
        if not self.rows:
            raise ValueError("rows must name at least one row")
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if not 0 <= self.balance <= 1:
            raise ValueError(f"balance must be between 0 and 1, got {self.balance}")
        if self.holdout < 0:
            raise ValueError(f"holdout must not be negative, got {self.holdout}")
        object.__setattr__(self, "parameters", check_parameters(self.parameters))
        object.__setattr__(self, "limits", {_any_row(row): limit for row, limit in self.limits.items()})
        for row, limit in self.limits.items():
            if limit < 0:
                raise ValueError(f"the limit of {row} must not be negative, got {limit}")

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it; ``RunConfig(**config.to_dict())`` is the way back."""
        document: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return {**document, "data": str(Path(self.data).resolve())}

    def is_that_of(self, settings: Mapping[str, Any]) -> bool:
        """Whether `settings`, those of a run.json, ask for the same; what they do not mention has its default."""
        return RunConfig(**settings).to_dict() == self.to_dict()

    def changes(self, row: str) -> dict[str, Any]:
        """Changes of the parameters of the estimator of `row`."""
        known = VARIANTS[row].changeable
        common = {name: value for name, value in self.parameters.get(ALL_ROWS, {}).items() if name in known}
        changes = {**common, **self.parameters.get(row, {})}
        changes.pop(BALANCE, None)
        return changes

    def balance_of(self, row: str) -> float:
        """How much rare classes count in `row`."""
        stated = [self.parameters.get(key, {}).get(BALANCE) for key in (row, ALL_ROWS)]
        stated.append(VARIANTS[row].balance)
        return float(next((balance for balance in stated if balance is not None), self.balance))

    @property
    def copies(self) -> int:
        """How many graphs there are of a training image, one after another."""
        return 2 if self.mirror else 1

    def limit_of(self, row: str) -> int:
        """How many training images `row` learns from at most; 0: all."""
        return self.limits.get(row, self.limits.get(ALL_ROWS, 0))


@dataclass(frozen=True)
class Search:
    """How to search: number of trials, names of parameters (None: the usual ones), folds (0: the validation split)."""

    n_trials: int = 30
    names: tuple[str, ...] | None = None
    folds: int = 0

    def __post_init__(self) -> None:
        if self.n_trials < 1:
            raise ValueError(f"trials must be at least 1, got {self.n_trials}")
        if self.folds < 0 or self.folds == 1:
            raise ValueError(f"folds must be at least 2, or 0 for the validation split, got {self.folds}")
        object.__setattr__(self, "names", None if self.names is None else tuple(self.names))


def _any_row(name: str) -> str:
    return name if name == ALL_ROWS else row_name(name)
