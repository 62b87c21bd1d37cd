"""What a run is to do: everything that decides its result, as JSON can hold it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuralfactors.experiment.variants import row_name

KINDS = ("train", "compare", "demo")


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
        "train", "compare" or "demo": what reports call it.
    features : mapping
        Options of `FeatureSettings`.
    parameters : mapping
        Changes of the estimators' parameters by row; those under ``"*"`` are for all rows that have the parameter.
    balance : float
        See `Segmenter`.
    train_split, val_split, test_split : str
        What to learn from, to follow the training by, and to evaluate the result on; None: not done.
    void, drop : sequence of str
        See `ImageFolder`.
    seed : int
    preset : str
    n_examples : int
        How many images of the evaluated split are kept in the run folder, with all rows' predictions.
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
    void: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    seed: int = 0
    preset: str | None = None
    n_examples: int = 12

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

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it; ``RunConfig(**config.to_dict())`` is the way back."""
        return dataclasses.asdict(self)

    def changes(self, row: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """Changes of the parameters of `row`, whose estimator has the parameters `known`."""
        common = {name: value for name, value in self.parameters.get("*", {}).items() if name in known}
        return {**common, **self.parameters.get(row, {})}
