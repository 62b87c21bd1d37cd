"""What features to compute: a frozen set of options that JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from neuralfactors._common.parameters import Parameter
from neuralfactors._common.seeds import RandomState, seed_of

KINDS = ("bow", "cnn", "bow+cnn", "own")
WORD_REGIONS, CNN_REGIONS = 300, 1000
WORD_SOFTNESS = 0.5
OF_CNN = ("backbone", "cnn")
EFFICIENTNET_LITE = "efficientnet-lite"  # how the names of backbones begin that come without timm or a file
MOST_BLOCKS = 8  # of a network that may learn: these see maps of a sixteenth of the image's sides, or coarser ones
JOINED = "__"  # between the name of a part and that of its option, as in scikit-learn
Options = Mapping[str, Parameter | Mapping[str, Parameter]]  # by name; those of a part may be together


@dataclass(frozen=True)
class WordSettings:
    """How descriptors become bags of words: which ones are taken, and how they are counted.

    Parameters
    ----------
    stride : int, default=4
        Distance between the DAISY descriptors, in pixels.
    radius : int, default=8
        Their size, in pixels.
    node_words : tuple of (int, int), default=(60, 30)
        Numbers of gradient and of colour words for nodes.
    edge_words : tuple of (int, int), default=(10, 5)
        Those for each end of an edge.
    softness : float, default=None
        How far from a word a descriptor still counts for it, in distances between neighbouring words; 0: only the
        nearest word counts. None: 0.5, by which int+nrl gains a point on MSRC-21 and KITTI; 0 with CNN features.
    root : bool, default=True
        Whether a histogram holds the square roots of the words' shares, which tell rare words apart better: logistic
        regression on MSRC-21 gains four points by it.
    """

    stride: int = 4
    radius: int = 8
    node_words: tuple[int, int] = (60, 30)
    edge_words: tuple[int, int] = (10, 5)
    softness: float | None = None
    root: bool = True

    def __post_init__(self) -> None:
        _check_types(self)
        _check_at_least_one(self, "stride", "radius")
        if not 0 <= (self.softness or 0.0) < math.inf:
            raise ValueError(f"softness must be positive, or 0 for the nearest word only, got {self.softness}")
        for name in ("node_words", "edge_words"):
            numbers = tuple(getattr(self, name))
            if len(numbers) != 2 or min(numbers) < 1:
                raise ValueError(f"{name} must be two positive numbers, of gradient and colour words, got {numbers}")
            object.__setattr__(self, name, numbers)


@dataclass(frozen=True)
class CNNSettings:
    """How a network's feature maps become features of regions.

    Parameters
    ----------
    scale : float, default=0.0
        How much the image is enlarged for the network. 0: so that it has 512² pixels, about twice the size at which
        the networks learned whole pictures.
    mirror : bool, default=True
        Whether the network sees the image mirrored too, and both views are averaged.
    maps : int, default=3
        How many of the network's feature maps are averaged over a region, coarsest first.
    surroundings : tuple of float, default=(0.23, 0.7)
        Sides of squares around a region, where 1 is that of a square as large as the image, over which the coarsest
        map is averaged too; ``()``: none. On MSRC-21 they gain a unary network one point by pixels and two by classes.
    finetune : int, default=0
        How many of the last blocks of the network, an EfficientNet-lite, a `Segmenter` trains on with the factors once
        these have learnt; 0: none, at most 8.
    finetune_epochs : int, default=5
        Passes over the training images for that.
    finetune_rate : float, default=1e-4
        Its learning rate, of blocks and factors alike.
    """

    scale: float = 0.0
    mirror: bool = True
    maps: int = 3
    surroundings: tuple[float, ...] = (0.23, 0.7)
    finetune: int = 0
    finetune_epochs: int = 5
    finetune_rate: float = 1e-4

    def __post_init__(self) -> None:
        _check_types(self)
        if self.maps < 1:
            raise ValueError(f"maps must be at least 1, got {self.maps}")
        if not self.scale >= 0:
            raise ValueError(f"scale must be positive, or 0 for a fixed number of pixels, got {self.scale}")
        if not 0 <= self.finetune <= MOST_BLOCKS:
            raise ValueError(f"finetune must be 0 to {MOST_BLOCKS} of the network's last blocks, got {self.finetune}")
        if self.finetune_epochs < 1 or not 0 < self.finetune_rate < math.inf:
            got = f"{self.finetune_epochs} and {self.finetune_rate}"
            raise ValueError(f"finetune_epochs must be at least 1 and finetune_rate positive, got {got}")
        object.__setattr__(self, "surroundings", tuple(self.surroundings))
        if not all(0 < side < math.inf for side in self.surroundings):
            raise ValueError(f"surroundings must be positive sides of squares, got {self.surroundings}")


OWN_REGIONS = -1  # the number of regions where images come with them


@dataclass(frozen=True)
class FeatureSettings:
    """Options of `FeatureBuilder`; for bags of words the defaults are the paper's: 90-D, 32-D edges, about 300 regions.

    Parameters
    ----------
    features : "bow", "cnn", "bow+cnn" or "own", default="bow"
        What describes a region: bags of words, averages of a network's feature maps, or both; features that come with
        the images stand beside these, and are all there is with "own".
    n_regions : int, default=0
        Regions of an image. 0: as many as the labels of a `Segmenter`'s training images need, at least `usual_regions`;
        without labels, `usual_regions`. −1: images come with regions; a `Segmenter` that learns from such sets it.
    compactness : float, default=30.0
        See `find_regions`. Where the number of regions is chosen, half or twice as much may be.
    min_area : float, default=0.0
        See `find_regions`.
    merge_from : int, default=1
        See `find_regions`. Where the number of regions is chosen, regions may be merged from four times as many.
    words : WordSettings, default=WordSettings()
        What bags of words are made of; a mapping of the same options will do.
    standardise : bool, default=True
        Whether a `Segmenter` scales every feature to mean 0 and standard deviation 1 over the training images.
    boundaries : bool, default=None
        Whether an edge's features end with the length of the boundary of its two regions and the contrast along it; see
        `boundary_features`. None: where there are CNN features.
    position : bool, default=False
        Whether a node's features end with the median row and column of its region, 0 to 1. The geometry of edges then
        goes by medians too.
    backbone : str, default="efficientnet-lite2"
        The network of CNN features, see `load_backbone`.
    cnn : CNNSettings, default=CNNSettings()
        What becomes of its feature maps; a mapping of the same options will do.
    max_side : int, default=1024
        Larger images are reduced to this before anything else; labels are painted at full size.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the clustering into words; a generator is asked for one at once, which is then kept.
    refine : bool, default=None
        Whether pixels near the borders between labels choose among the labels around them, by a small network that
        looks at them alone. None: where a `Segmenter` chooses the number of regions.
    n_own : int, default=0
        Features of a region or pixel that come with every image; a `Segmenter` that learns from such images sets it.

    Examples
    --------
    >>> FeatureSettings("cnn").usual_regions
    1000
    """

    features: str = "bow"
    n_regions: int = 0
    compactness: float = 30.0
    min_area: float = 0.0
    merge_from: int = 1
    words: WordSettings = field(default_factory=WordSettings)
    standardise: bool = True
    boundaries: bool | None = None
    position: bool = False
    backbone: str = "efficientnet-lite2"
    cnn: CNNSettings = field(default_factory=CNNSettings)
    max_side: int = 1024
    random_state: RandomState = 0
    refine: bool | None = None
    n_own: int = 0

    def __post_init__(self) -> None:
        _check_types(self)
        if self.features not in KINDS:
            raise ValueError(f"features must be one of {', '.join(map(repr, KINDS))}, got {self.features!r}")
        object.__setattr__(self, "random_state", seed_of(self.random_state))
        for name, part in PARTS.items():
            if isinstance(given := getattr(self, name), Mapping):
                object.__setattr__(self, name, part(**given))
        if self.words.softness is None:
            softness = 0.0 if self.uses_cnn else WORD_SOFTNESS
            object.__setattr__(self, "words", dataclasses.replace(self.words, softness=softness))
        if self.boundaries is None:
            object.__setattr__(self, "boundaries", self.uses_cnn)
        if self.n_regions < OWN_REGIONS:
            raise ValueError(f"n_regions must be at least 1, 0 to be chosen, or −1 for your own, got {self.n_regions}")
        _check_at_least_one(self, "merge_from", "max_side")
        self._check_finetune()
        if self.n_own < 0:
            raise ValueError(f"n_own must not be negative, got {self.n_own}")
        if not self.compactness > 0:
            raise ValueError(f"compactness must be positive, got {self.compactness}")
        if not self.min_area >= 0:
            raise ValueError(f"min_area must not be negative, got {self.min_area}")

    @classmethod
    def of(cls, options: Options) -> FeatureSettings:
        """The settings of `options`, among which "words__root" is the option "root" of "words".

        Parameters
        ----------
        options : mapping
            Values by name.

        Returns
        -------
        FeatureSettings
            All else has its default.

        Raises
        ------
        ValueError
            If there is no option of that name.

        Examples
        --------
        >>> FeatureSettings.of({"features": "cnn", "words__root": False}).words.root
        False
        """
        found: dict[str, Any] = {}
        for name, value in _flattened(options):
            part, joined, option = name.partition(JOINED)
            if not is_option(name):
                raise ValueError(f"features have no option {name!r}{_hint(name)}")
            if joined:
                found.setdefault(part, {})[option] = value
            else:
                found[name] = value
        return cls(**found)

    def _check_finetune(self) -> None:
        if self.cnn.finetune and not self.uses_cnn:
            raise ValueError(f"finetune trains a network, but features is {self.features!r}: use 'cnn' or 'bow+cnn'")
        if self.cnn.finetune and not self.backbone.startswith(EFFICIENTNET_LITE):
            raise ValueError(f"finetune works with efficientnet-lite0 to 2 only, but backbone is {self.backbone!r}")

    @property
    def usual_regions(self) -> int:
        """Regions of an image: 300 for bags of words; 1000 with CNN features, which can be had of finer regions."""
        return CNN_REGIONS if self.uses_cnn else WORD_REGIONS

    @property
    def uses_words(self) -> bool:
        """Whether nodes are described by bags of words; edges always are."""
        return "bow" in self.features

    @property
    def uses_cnn(self) -> bool:
        """Whether nodes are described by a network."""
        return "cnn" in self.features

    @property
    def own_regions(self) -> bool:
        """Whether images come with regions."""
        return self.n_regions == OWN_REGIONS

    @property
    def of_words(self) -> dict[str, Parameter]:
        """Those of the options that words depend on."""
        words = dataclasses.asdict(self.words)
        learnt = {name: value for name, value in words.items() if name not in ("softness", "root")}
        return {**learnt, "max_side": self.max_side, "random_state": self.random_state}

    @property
    def of_graphs(self) -> Options:
        """Those of the options that the graph of an image depends on when the words are given."""
        unused = {"random_state", "standardise", "words", "refine"} | (set() if self.uses_cnn else {*OF_CNN})
        words, options = dataclasses.asdict(self.words), dataclasses.asdict(self)
        # The blocks that have learnt are part of the network, which caches know by its weights.
        options["cnn"] = {name: value for name, value in options["cnn"].items() if not name.startswith("finetune")}
        return {**words, **{name: value for name, value in options.items() if name not in unused}}

    def to_dict(self) -> Options:
        """The options as JSON can hold them.

        Returns
        -------
        dict
            ``FeatureSettings(**settings.to_dict())`` is the way back.
        """
        return dataclasses.asdict(self)


PARTS: dict[str, type[WordSettings | CNNSettings]] = {"words": WordSettings, "cnn": CNNSettings}


def is_option(name: str) -> bool:
    """Whether `name` is that of an option of `FeatureSettings`, or of one of a part, such as "words__root"."""
    part, joined, option = name.partition(JOINED)
    if joined:
        return part in PARTS and option in _names(PARTS[part])
    return name in _names(FeatureSettings)


def _flattened(options: Options) -> Iterator[tuple[str, Parameter | Mapping[str, Parameter]]]:
    """All options, those of parts under their joined names."""
    for name, value in options.items():
        if name not in PARTS:
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((f"{name}{JOINED}{option}", each) for option, each in value.items())
        else:
            raise ValueError(f"{name} must be a mapping of options, got {value!r}")


def _names(kind: type[Any]) -> list[str]:
    """Names of the options of a part."""
    return [each.name for each in dataclasses.fields(kind)]


def _hint(name: str) -> str:
    """Where an option of that name is found, if it belongs to a part."""
    found = [f"{part}{JOINED}{name}" for part, kind in PARTS.items() if name in _names(kind)]
    return f": it is {found[0]!r}" if found else ""


def _check_types(settings: Any) -> None:
    """Refuse fractions for whole numbers, and anything but a truth value where there are two choices."""
    for each in dataclasses.fields(settings):
        value = getattr(settings, each.name)
        if each.type == "int" and not isinstance(value, Integral):
            raise ValueError(f"{each.name} must be a whole number, got {value!r}")
        if each.type == "bool" and value not in (True, False):
            raise ValueError(f"{each.name} must be true or false, got {value!r}")
        if each.type == "bool | None" and value not in (True, False, None):
            raise ValueError(f"{each.name} must be true, false or null, got {value!r}")


def _check_at_least_one(settings: Any, *names: str) -> None:
    """Refuse numbers below 1 under these names."""
    for name in names:
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(settings, name)}")
