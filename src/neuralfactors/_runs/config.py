"""What a run is to do: everything that decides its result, as JSON can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from neuralfactors._common.parameters import Parameter
from neuralfactors._runs.documents import encode
from neuralfactors._runs.names import ALL_VARIANTS, USUAL, key_or_all, variant_key

HOLDOUT, REST = "holdout", "rest"  # splits made of the training images
Kind = Literal["train", "compare", "demo", "tune"]
PageUse = Literal["channels", "pictures"]
Parameters = Mapping[str, Mapping[str, Parameter]]  # changes of the estimators' parameters by variant, "*": of all


@dataclass(frozen=True)
class Splits:
    """Which images a run learns from, follows its training by and evaluates the result on."""

    train: str = "train"  # what to learn from; several are joined by +
    val: str | None = "val"  # what to monitor training on; None: nothing
    test: str | None = "val"  # what to evaluate the result on; None: nothing
    # Number of images of `train`, drawn by the seed of the run, that are not learned from: they are the split
    # "holdout", which takes the place of `val`.
    holdout: int = 0
    seed: int | None = None  # of the random split of images that have no splits; None: that of the run

    def __post_init__(self) -> None:
        if self.holdout < 0:
            raise ValueError(f"holdout must not be negative, got {self.holdout}")

    @property
    def learnt(self) -> str:
        """The split that variants learn from: `train`, or what `holdout` leaves of it."""
        return REST if self.holdout else self.train

    @property
    def followed(self) -> str | None:
        """The split that the training is followed by: `val`, or the images of `holdout`."""
        return HOLDOUT if self.holdout else self.val


@dataclass(frozen=True)
class ImageOptions:
    """How `ImageFolder`, whose options these are, reads the images of a run."""

    void: tuple[str, ...] = ()  # classes that are void
    drop: tuple[str, ...] = ()  # classes that are left out
    regions: str | None = None  # folder of regions that users have made
    features: str | None = None  # folder of features that users have made
    pages: PageUse | None = None  # "channels" or "pictures": what the pages of a TIFF are

    def __post_init__(self) -> None:
        for name in ("void", "drop"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.pages not in (None, *get_args(PageUse)):
            raise ValueError(f"pages must be one of {', '.join(get_args(PageUse))}, got {self.pages!r}")

    def resolved(self) -> ImageOptions:
        """The same with absolute paths."""
        regions, features = (path and str(Path(path).resolve()) for path in (self.regions, self.features))
        return replace(self, regions=regions, features=features)


@dataclass(frozen=True)
class RunConfig:
    """A run: variants trained on one set of images with the same features."""

    data: str  # folder that `ImageFolder` reads
    variants: tuple[str, ...] = (USUAL,)  # names of rows of the paper's tables
    kind: Kind = "train"  # "train", "compare", "demo" or "tune": what reports call it
    features: Mapping[str, Parameter] = field(default_factory=dict)  # as `FeatureSettings.of` takes them
    # Changes of the estimators' parameters by variant; those under "*" are for all variants that have the
    # parameter. "balance" among them is that of the `Segmenter`.
    parameters: Parameters = field(default_factory=dict)
    # That of variants for which neither `parameters` nor the variant says anything; None: as in `Segmenter`.
    balance: float | None = 0.0
    splits: Splits = Splits()  # what to learn from and to be judged by
    # Number of training images by variant, "*" for all others: so many are drawn by `seed`; 0 is no limit.
    limits: Mapping[str, int] = field(default_factory=dict)
    mirror: bool = False  # whether variants learn from the mirror images of the training images too
    varied: int = 0  # and from so many copies of each at another size, gamma and saturation
    images: ImageOptions = ImageOptions()  # how they are read
    seed: int = 0
    preset: str | None = None
    n_examples: int = 12  # how many images of the evaluated split are kept in the run folder, with all predictions
    procedure: str = "usual"  # what features and parameters began with: "usual", or "literal", as the paper says

    def __post_init__(self) -> None:
        changed: dict[str, object] = {
            "variants": tuple(map(variant_key, self.variants)),
            "limits": {key_or_all(name): limit for name, limit in self.limits.items()},
            "parameters": {key_or_all(name): encode(changes) for name, changes in self.parameters.items()},
            "features": encode(self.features),
        }
        for name, value in changed.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not self.variants:
            raise ValueError("variants must name at least one variant")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        if self.balance is not None and not 0 <= self.balance <= 1:
            raise ValueError(f"balance must be between 0 and 1, got {self.balance}")
        if self.varied < 0:
            raise ValueError(f"varied must be a number of copies of every image, got {self.varied}")
        for variant, limit in self.limits.items():
            if limit < 0:
                raise ValueError(f"the limit of {variant} must not be negative, got {limit}")

    def resolved(self) -> RunConfig:
        """The same with absolute paths, as a run records it: it may be resumed from anywhere."""
        return replace(self, data=str(Path(self.data).resolve()), images=self.images.resolved())

    @property
    def data_name(self) -> str:
        """Name of the folder of images."""
        return Path(self.data).name

    @property
    def feature_kind(self) -> str:
        """Which features are computed: "bow", "cnn" or "bow+cnn"; "own": none."""
        return str(self.features.get("features", "bow"))

    @property
    def uses_cnn(self) -> bool:
        """Whether a network is among the features."""
        return "cnn" in self.feature_kind

    @property
    def copies(self) -> int:
        """How many graphs there are of a training image, one after another."""
        return 1 + self.mirror + self.varied

    def limit_of(self, variant: str) -> int:
        """How many training images `variant` learns from at most; 0: all."""
        return self.limits.get(variant, self.limits.get(ALL_VARIANTS, 0))

    def parameters_of(self, variant: str) -> dict[str, Parameter]:
        """What the settings say of `variant`: those for all, then its own."""
        return {**self.parameters.get(ALL_VARIANTS, {}), **self.parameters.get(variant, {})}


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
