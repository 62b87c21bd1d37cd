"""Segmenter: learns from a folder of labelled pictures what the base classes say of new ones."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.seeds import RandomState
from neuralfactors.datasets import ImageFolder
from neuralfactors.datasets._classes import Classes
from neuralfactors.estimators import StructuredEstimator
from neuralfactors.learning._losses import check_count
from neuralfactors.segmentation._copies import with_copies
from neuralfactors.segmentation._describer import Describer
from neuralfactors.segmentation._diagnosis import diagnosed
from neuralfactors.segmentation._fine_tuning import check_tunable, fine_tune
from neuralfactors.segmentation._graphs import LabelledGraphs
from neuralfactors.segmentation._labelled_images import (
    Dataset,
    are_named,
    refuse_other_classes,
    to_samples,
)
from neuralfactors.segmentation._picture_labeller import PictureLabeller
from neuralfactors.segmentation._stages import fit_stages, new_stages
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._builder import BuilderOptions

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


@dataclass(eq=False, repr=False)
class Segmenter(PictureLabeller):
    """Image segmentation with context: regions of an image labelled jointly by neural factors.

    Parameters
    ----------
    features : "bow", "cnn", "bow+cnn", "own" or FeatureSettings, default="bow"
        What describes a region: bags of words, a network's feature maps (needs the extra ``cnn``), or both. Features
        that come with the images stand beside these; with "own" they stand alone. Unless FeatureSettings say how many
        regions there are, or images come with them, the training labels decide.
    estimator : estimator or Pipeline, default=None
        What labels the graph of regions; a Pipeline of a `UnaryClassifier` and an estimator is the paper's bifurcated
        training. None: a `StructuralSVM` with neural factors, trained as a whole, with the numbers that
        `neuralfactors.segmentation.default_parameters` has for so many images. Its `n_labels`, `verbose` and, unless
        that is None here, `random_state` are replaced by those of the segmenter.
    balance : float or None, default=None
        How much rare classes count: 0 by their area, 1 as frequent ones. None: 0.5 · n / (n + 5) for a class that n of
        the training images show, so that what few images show is not learnt by heart.
    cost : "area", "pixel" or "region", default="area"
        What a wrong region costs: its area; by "pixel", its labelled pixels that have another class, each by the weight
        of its own; by "region", 1 whatever its size, Eq. (5) of the paper.
    region_label : "majority" or "labelled", default="majority"
        Which regions have a label: by "majority", those most of whose pixels are not void; else those with any labelled
        pixel. The others are void. Where less than half of the regions have a labelled pixel, the labels are taken for
        scribbles, and void has no vote in either case.
    mirror : bool, default=False
        Whether to learn from the mirror images too, where left and right mean nothing.
    varied : int, default=0
        How many copies of every image to learn from besides, each at another size, gamma and saturation. Give fewer
        epochs then: one is so many times as long.
    classes : sequence of str, default=None
        Names of the labels where images come as arrays; None: "0", "1", ...
    cache : path, default=None
        Folder that keeps features, so that the next `fit` on the same images is instant; None: nothing is kept.
    n_jobs : int, default=1
        Cores that compute features; −1 is all of them.
    dask : str, default=None
        Address of a Dask scheduler that computes them instead.
    backbone : torch module, default=None
        A custom network for CNN features; see `FeatureBuilder`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of training and, unless `features` are FeatureSettings with their own, of words. None: the estimator keeps
        its own, and that of words is 0.
    verbose : int, default=0
        1 shows progress bars.

    Attributes
    ----------
    describer_ : Describer
        Words, scaling and classes.
    stages_ : list of estimators
        The fitted estimator, after those that transform its input.
    ceiling_ : Ceiling
        What labels of regions can reach on the training images; `fit` warns where it is low. Files do not hold it.
    tuning_history_ : list of dict
        An epoch of fine-tuning each: mean hinge, seconds. Files do not hold it either.

    Examples
    --------
    >>> from neuralfactors import StructuralSVM
    >>> from neuralfactors.datasets import SCENE_CLASSES, make_scenes
    >>> scenes = make_scenes(4, shape=(48, 64))
    >>> model = StructuralSVM((8,), (8,), max_iter=2)
    >>> segmenter = Segmenter(FeatureSettings(n_regions=30), estimator=model, classes=SCENE_CLASSES).fit(scenes)
    >>> images = [image for image, _ in scenes]
    >>> [labels.shape for labels in segmenter.predict(images[:2])]
    [(48, 64), (48, 64)]
    >>> bool(segmenter.confidence(images[0]).max() <= 1)
    True
    """

    features: str | FeatureSettings = "bow"
    _: KW_ONLY
    estimator: StructuredEstimator | Pipeline | None = None
    balance: float | None = Targets.balance
    cost: str = Targets.cost
    region_label: str = Targets.region_label
    mirror: bool = False
    varied: int = 0
    classes: Sequence[str] | None = None
    cache: str | os.PathLike[str] | None = None
    n_jobs: int = 1
    dask: str | None = None
    backbone: Any = None
    random_state: RandomState = 0
    verbose: int = 0

    def fit(self, dataset: Dataset, *, split: str = "train", validation: Dataset | str | None = None) -> Self:
        """Learn from labelled images.

        Parameters
        ----------
        dataset : ImageFolder, or sequence of samples or of (image, labels)
            Images are uint8 (H, W, 3), labels integers of any type (H, W) with −1 for void.
        split : str, default="train"
            Which part of an `ImageFolder` to learn from.
        validation : str or dataset, default=None
            Split of the `ImageFolder`, or images, whose accuracy after every epoch goes into the history.

        Returns
        -------
        self
            The fitted segmenter.
        """
        if isinstance(validation, str) and not isinstance(dataset, ImageFolder):
            raise ValueError(
                f"validation={validation!r} names a split, but only an ImageFolder has splits: pass images"
            )
        check_count("varied", self.varied, least=0)
        samples, classes = to_samples(dataset, split, self.classes)
        describer = self.describer(classes)
        train = describer.learn(with_copies(samples, mirror=self.mirror, varied=self.varied))
        held = None
        if validation is not None:
            source, name = (dataset, validation) if isinstance(validation, str) else (validation, split)
            judged, found = to_samples(source, name, self.classes)
            if are_named(classes) and are_named(found):
                refuse_other_classes(found, classes, "validation")
            held = describer.describe(judged)
        for told in diagnosed(self.fit_graphs(describer, train, held), train):
            warnings.warn(told, stacklevel=2)
        return self

    def fit_graphs(self, describer: Describer, train: LabelledGraphs, validation: LabelledGraphs | None = None) -> Self:
        """Learn from images that have been described already, so that several models share that work.

        Parameters
        ----------
        describer : Describer
            What has described them.
        train : LabelledGraphs
            What to learn from.
        validation : LabelledGraphs, default=None
            What to judge by after every epoch.

        Returns
        -------
        self
            The fitted segmenter.
        """
        self.describer_ = describer
        self.ceiling_ = train.ceiling(describer.n_labels)
        targets = Targets(self.balance, self.cost, self.region_label).suited_to(train)
        learnt = targets.of(train, describer.n_labels)
        stages = self._new_stages(describer, learnt.class_weight, len(train.X), train.labelled_share)
        held = None if validation is None else (validation.X, targets.all_labels(validation))
        check_tunable(describer.builder.settings, stages, describer.builder.backbone)
        self.stages_ = fit_stages(stages, learnt, held)
        self.describer_, self.tuning_history_ = fine_tune(describer, self.stages_, train, learnt)
        return self

    def describer(self, classes: Classes) -> Describer:
        """The describer, not yet fitted, that turns images into graphs.

        Parameters
        ----------
        classes : Classes
            What the labels mean.

        Returns
        -------
        Describer
            With the options of this segmenter.
        """
        settings = self.features
        if isinstance(settings, str):
            seed = 0 if self.random_state is None else self.random_state
            settings = FeatureSettings(features=settings, random_state=seed)
        return Describer(settings, classes, **self._builder_options())

    def _builder_options(self) -> BuilderOptions:
        return BuilderOptions(
            backbone=self.backbone, cache=self.cache, n_jobs=self.n_jobs, dask=self.dask, progress=bool(self.verbose)
        )

    def _new_stages(
        self, describer: Describer, class_weight: NDArray[np.float64] | None, n_images: int, labelled: float = 1.0
    ) -> list[StructuredEstimator]:
        common = {"n_labels": describer.n_labels, "verbose": self.verbose, "random_state": self.random_state}
        cnn = describer.builder.settings.uses_cnn
        shared = {**common, "class_weight": class_weight}
        return new_stages(self.estimator, n_images, shared, cnn=cnn, labelled=labelled)
