"""The images of a run, which all its variants share: opened, checked, described, and parts of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from neuralfactors._common.files import sweep
from neuralfactors._common.persistence import DOCUMENT
from neuralfactors._runs import Regions, RowFolder, Run, RunConfig, RunFolder
from neuralfactors._runs.config import HOLDOUT, REST
from neuralfactors.datasets import ImageFolder
from neuralfactors.datasets._folder import Sample
from neuralfactors.segmentation import Describer, LabelledGraphs, Segmenter
from neuralfactors.segmentation._copies import with_copies
from neuralfactors.segmentation._labelled_images import image_source
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._builder import BuilderOptions

MANY_IMAGES = 64  # from here on, starting a process per core pays
USUAL = ("val", "test")  # splits that a set may do without


@dataclass(frozen=True)
class Means:
    """How to compute, without any effect on the results: cache, processes, progress bars."""

    cache: str | os.PathLike[str] | None = None
    n_jobs: int | None = None  # None: one, or one per core where there are many images
    dask: str | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        if self.n_jobs == 0:
            raise ValueError("jobs must be a number of processes, or -1 for one per core, got 0")

    def builder_options(self, n_images: int) -> BuilderOptions:
        """Options of `FeatureBuilder` for so many images."""
        n_jobs = self.n_jobs or (-1 if n_images >= MANY_IMAGES else 1)
        return {"cache": self.cache, "n_jobs": n_jobs, "dask": self.dask, "progress": bool(self.verbose)}

    def load(self, row: RowFolder, features: Path, n_images: int) -> Segmenter:
        """The segmenter of a row, whose words and scaling are in `features`, to compute in this way."""
        n_jobs = self.builder_options(n_images)["n_jobs"]
        return Segmenter.load(
            row.path, features=features, cache=self.cache, n_jobs=n_jobs, dask=self.dask, verbose=self.verbose
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """The images of a run, described: the same for all its rows."""

    describer: Describer
    train: LabelledGraphs
    val: LabelledGraphs | None
    test: LabelledGraphs | None
    test_split: str | None
    regions: Regions  # of the training images


def open_data(config: RunConfig) -> ImageFolder:
    """The images of a run; all label maps are checked, so that a bad one is reported before hours of work."""
    data = open_folder(config)
    if not data[config.splits.learnt]:
        raise ValueError(f"the split {config.splits.learnt!r} of {data.root} names no image to learn from")
    for split in dict.fromkeys(filter(None, used_splits(config, data).values())):
        for sample in data[split]:
            sample.check()
    return data


def open_folder(config: RunConfig) -> ImageFolder:
    """The images of a run by split, with those that it holds out."""
    splits = config.splits
    seed = config.seed if splits.seed is None else splits.seed
    data = ImageFolder(config.data, random_state=seed, **asdict(config.images))
    if splits.holdout:
        names = [sample.name for sample in data[splits.train]]
        if splits.holdout >= len(names):
            raise ValueError(
                f"holdout must leave at least one of the {len(names)} images to learn from, got {splits.holdout}"
            )
        held = drawn(len(names), splits.holdout, config.seed)
        rest = sorted(set(range(len(names))) - set(held))
        data.splits |= {HOLDOUT: [names[n] for n in held], REST: [names[n] for n in rest]}
    return data


def used_splits(config: RunConfig, data: ImageFolder) -> dict[str, str | None]:
    """The splits for train, val and test; the usual ones are None where the set has none, others are refused."""

    def present(split: str | None) -> str | None:
        if not split or (split in USUAL and split not in data.splits):
            return None
        return split if data[split] else None

    splits = config.splits
    return {"train": splits.learnt, "val": present(splits.followed), "test": present(splits.test)}


def data_digest(config: RunConfig, data: ImageFolder) -> str:
    """What the files of a run take for granted of its images: the classes in their order, the names in its splits."""
    classes = [(e.index, e.name, e.colour, e in data.classes.kept) for e in data.classes.entries]
    used = used_splits(config, data)
    splits = {use: split and [sample.name for sample in data[split]] for use, split in used.items()}
    return hashlib.blake2b(json.dumps([classes, splits]).encode(), digest_size=16).hexdigest()


def refuse_changed(run: Run, data: ImageFolder) -> None:
    """Refuse to resume `run` if its images or classes have changed since it began."""
    if run.data_digest not in (None, data_digest(run.settings, data)):
        raise ValueError(
            f"the images, splits or classes in {data.root} have changed since the run began: start a new one elsewhere"
        )


def training_samples(config: RunConfig, data: ImageFolder) -> list[Sample]:
    """The images that at least one variant learns from."""
    samples = data[used_splits(config, data)["train"] or ""]
    limits = [config.limit_of(variant) or len(samples) for variant in config.variants]
    return [samples[n] for n in drawn(len(samples), max(limits), config.seed)]


def prepare(config: RunConfig, data: ImageFolder, folder: RunFolder, means: Means, *, write: bool = True) -> Prepared:
    """The images of a run, described; words and scaling are in the run folder afterwards.

    Without `write`, another process must have put them there.
    """
    splits = used_splits(config, data)
    train_samples = with_copies(training_samples(config, data), mirror=config.mirror, varied=config.varied)
    options = means.builder_options(len(data))
    if (folder.features / DOCUMENT).exists():
        describer = Describer.load(folder.features, **options)
        train = describer.describe(train_samples)
    else:
        describer = Describer(feature_settings(config), data.classes, **options)
        train = describer.learn(train_samples)
        describer.save(folder.features)
    found: dict[str, LabelledGraphs] = {}
    for split in dict.fromkeys(filter(None, (splits["val"], splits["test"]))):
        found[split] = describer.describe(data[split])
    val, test = (found.get(splits[part] or "") for part in ("val", "test"))
    regions = regions_of(config, describer, train)
    if write:
        folder.regions.write(regions)
    return Prepared(describer, train, val, test, splits["test"], regions)


def regions_of(config: RunConfig, describer: Describer, train: LabelledGraphs) -> Regions:
    """What is recorded of the regions of training images."""
    settings = describer.builder.settings
    chosen = not (feature_settings(config).n_regions or settings.own_regions)
    ceiling = train.ceiling(describer.n_labels)
    return Regions(settings.n_regions, settings.compactness, chosen, train.mean_regions, ceiling, describer.stop)


def told_images(config: RunConfig, data: ImageFolder, prepared: Prepared) -> str:
    """A sentence about the images of a run, and about classes without training regions."""
    parts = [f"{len(prepared.train.X) // config.copies} for training"]
    for use, graphs in (("for validation", prepared.val), ("for evaluation", prepared.test)):
        parts += [] if graphs is None else [f"{len(graphs.X)} {use}{_told_shared(graphs, prepared.train)}"]
    chosen = ", drawn at random because there is no splits/ folder" if data.is_split_at_random else ""
    learnt = Targets().suited_to(prepared.train).all_labels(prepared.train)
    seen = set().union(*(labels.tolist() for labels in learnt))
    absent = [name for label, name in enumerate(data.classes.names) if label not in seen]
    missing = f"; no training region is labelled {', '.join(absent)}" if absent else ""
    return f"Images: {', '.join(parts)}{chosen}{missing}"


def told_regions(prepared: Prepared) -> tuple[str, str]:
    """How fine the regions of a run are and what they allow; and, where they are too coarse, what to do."""
    regions = prepared.regions
    chosen = ", chosen by the labels of training images" if regions.chosen else ""
    shape = "your own" if prepared.describer.builder.settings.own_regions else f"compactness {regions.compactness:g}"
    told = f"Regions: about {regions.mean} an image ({shape}){chosen}"
    finer = ", which maps refined to pixels may exceed" if prepared.describer.pixels is not None else ""
    allowed = f"{told}; their ceiling is {regions.ceiling.told}{finer}"
    return allowed, regions.advice(prepared.describer.classes.names)


def _told_shared(graphs: LabelledGraphs, train: LabelledGraphs) -> str:
    n_shared = len({sample.name for sample in graphs.samples} & {sample.name for sample in train.samples})
    return f" ({n_shared} of them also used for training)" if n_shared else ""


def fill_cache(config: RunConfig, means: Means) -> int:
    """Number of images whose features are in the cache afterwards: all those of the data, or else OSError."""
    if means.cache is not None:
        Path(means.cache).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=means.cache):  # refused now, rather than after the work
            pass
        sweep(Path(means.cache), below=True)
    data = open_data(config)
    describer = Describer(feature_settings(config), data.classes, **means.builder_options(len(data)))
    learned = training_samples(config, data)
    describer.learn(with_copies(learned, mirror=config.mirror, varied=config.varied))
    samples = {sample.name: sample for split in data.splits for sample in data[split]}
    others = [image_source(sample) for name, sample in samples.items() if name not in {each.name for each in learned}]
    describer.builder.transform_many(others)
    if describer.builder.n_unkept:
        failed = f"{describer.builder.n_unkept} cache entries could not be written to {means.cache}"
        raise OSError(f"{failed}: free some space or choose another folder, then prepare again")
    return len(samples)


def feature_settings(config: RunConfig) -> FeatureSettings:
    """The features of a run, whose words are learned with its seed."""
    return FeatureSettings.of({"random_state": config.seed, **config.features})


def drawn(n_items: int, n_drawn: int, seed: int) -> list[int]:
    """Numbers, in order, of `n_drawn` of `n_items`; fewer ones of the same seed are among more of them.

    >>> set(drawn(100, 5, seed=1)) < set(drawn(100, 50, seed=1))
    True
    """
    order = np.random.default_rng([seed, n_items]).permutation(n_items)
    return sorted(order[:n_drawn].tolist())


def take_images(graphs: LabelledGraphs, numbers: Sequence[int], copies: int) -> LabelledGraphs:
    """The graphs of the images with these numbers, where there are `copies` of each, one after another."""
    return graphs.take([copies * n + k for n in numbers for k in range(copies)])


def limited(graphs: LabelledGraphs, limit: int, seed: int, copies: int = 1) -> LabelledGraphs:
    """The graphs of at most `limit` images, drawn by `seed`; all of them where it is 0."""
    n = len(graphs.X) // copies
    return graphs if not 0 < limit < n else take_images(graphs, drawn(n, limit, seed), copies)
