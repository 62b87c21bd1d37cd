"""What a fitted segmenter does with graphs that its describer has made, so that nobody describes an image twice.

Of a data set, `score` and `calibrate` need nothing but these graphs.
"""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from neuralfactors._core.graph import Graph
from neuralfactors._core.potentials import Potentials
from neuralfactors.estimators import StructuredEstimator
from neuralfactors.inference import solve
from neuralfactors.metrics import Scores, confusion_matrix
from neuralfactors.segmentation._describer import Describer
from neuralfactors.segmentation._graph_prediction import Prediction, as_arrays, conditional_scores, each_on_all_cores
from neuralfactors.segmentation._graphs import LabelledGraphs
from neuralfactors.segmentation._labelled_images import Dataset, refuse_other_classes, to_samples
from neuralfactors.segmentation._segmenter_file import learning_state, load_parts, save_parts
from neuralfactors.vision import ImageGraph
from neuralfactors.vision._builder import BuilderOptions
from neuralfactors.vision._region_geometry import enlarge
from neuralfactors.vision._sources import ImageSource


class GraphLabeller(BaseEstimator):
    """Base of `Segmenter`: labels, scores and explanations of described graphs, and the model's files.

    A subclass fills `describer_` and `stages_` in `fit`.
    """

    describer_: Describer
    stages_: list[StructuredEstimator]

    def _builder_options(self) -> BuilderOptions:
        raise NotImplementedError

    @property
    def class_names(self) -> list[str]:
        """Name of each label."""
        check_is_fitted(self, "stages_")
        return self.describer_.classes.names

    def calibrate(self, dataset: Dataset, *, split: str = "val") -> Self:
        """Choose the temperature of `predict_proba` by images that the model has not learned from.

        Parameters
        ----------
        dataset : ImageFolder, or sequence of samples or of (image, labels)
            As in `fit`, of the same classes.
        split : str, default="val"
            Which part of an `ImageFolder` to take.

        Returns
        -------
        self
            With probabilities that fit these images best; label maps stay the same.
        """
        return self.calibrate_graphs(self._graphs_of(dataset, split))

    def score(self, dataset: Dataset, *, split: str = "test") -> float:
        """Share of the labelled pixels that `predict` labels right, so that scikit-learn can search over segmenters.

        Parameters
        ----------
        dataset : ImageFolder, or sequence of samples or of (image, labels)
            As in `fit`, of the same classes.
        split : str, default="test"
            Which part of an `ImageFolder` to score; `neuralfactors.segmentation.evaluate` tells more.

        Returns
        -------
        float
            From 0 to 1.
        """
        return self.score_graphs(self._graphs_of(dataset, split)).pixel_accuracy

    def _graphs_of(self, dataset: Dataset, split: str) -> LabelledGraphs:
        samples, classes = to_samples(dataset, split, self.class_names)
        refuse_other_classes(classes, self.describer_.classes, "the dataset")
        return self.describer_.describe(samples)

    def score_graphs(self, graphs: LabelledGraphs) -> Scores:
        """Figures of `predict` over all labelled pixels of described images.

        Parameters
        ----------
        graphs : LabelledGraphs
            From `describer_`.

        Returns
        -------
        Scores
            Of all pixels together.
        """

        def counted(n: int) -> NDArray[np.float64]:
            potentials = self.potentials(graphs.X[n])
            return self.judge(graphs, n, potentials, self.stages_[-1].decode(potentials))[0]

        n_images = len(graphs.X)
        told = f"Labels of {n_images} images" if self.verbose and n_images > 1 else None
        return Scores(np.sum(list(each_on_all_cores(counted, range(n_images), told)), axis=0))

    def judge(
        self, graphs: LabelledGraphs, n: int, potentials: Potentials, labels: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """Number of pixels of a described image by true and predicted label.

        Parameters
        ----------
        graphs : LabelledGraphs
            From `describer_`.
        n : int
            Which of them.
        potentials : Potentials
            Of `potentials`, of this graph.
        labels : ndarray of shape (V,)
            Those that joint prediction gives to its regions.

        Returns
        -------
        counts : ndarray of shape (L, L)
            The true label is that of the row.
        painted : ndarray of shape (H, W) or None
            The label map, where it is finer than regions.
        """
        n_labels = len(self.class_names)
        if self.describer_.pixels is None:
            return graphs.truth[n].confusion(labels, n_labels), None
        sample = graphs.samples[n]
        painted, truth = self.paint(sample.read_image, graphs.images[n], potentials, labels), sample.read_labels()
        return confusion_matrix(truth[truth >= 0], painted[truth >= 0], n_labels), painted

    def paint(
        self, image: ImageSource, described: ImageGraph, potentials: Potentials, labels: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Label map of an image: the labels of its regions, and near the borders between them those of pixels.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or what reads one
            The picture.
        described : ImageGraph
            Its regions.
        potentials : Potentials
            Of `potentials`, of its graph.
        labels : ndarray of shape (V,)
            Those that joint prediction gives to the regions.

        Returns
        -------
        ndarray of shape (H, W)
            A label for every pixel.
        """
        if self.describer_.pixels is None:
            return described.paint(labels)
        view, scores = self.describer_.builder.view(image), conditional_scores(potentials, labels)
        return enlarge(self.describer_.pixels.refine(view, described.regions, labels, scores), described.shape)

    def region_proba(self, potentials: Potentials) -> NDArray[np.float32]:
        """Probabilities of the labels of regions.

        Parameters
        ----------
        potentials : Potentials
            Of `potentials`.

        Returns
        -------
        ndarray of shape (V, L)
            Rows sum to 1.
        """
        return self.stages_[-1].marginals(potentials).astype(np.float32, copy=False)

    def calibrate_graphs(self, graphs: LabelledGraphs) -> Self:
        """Choose the temperature of `region_proba` by described images.

        Parameters
        ----------
        graphs : LabelledGraphs
            From `describer_`, of images that the model has not learned from.

        Returns
        -------
        self
            Calibrated.
        """
        starts = np.cumsum([0, *(len(y) for y in graphs.Y)])
        nodes = np.concatenate([start + t.node for start, t in zip(starts, graphs.truth, strict=False)])
        labels, n_pixels = (np.concatenate([getattr(t, name) for t in graphs.truth]) for name in ("label", "n_pixels"))
        self.stages_[-1].calibrate_nodes([self._transform(graph) for graph in graphs.X], nodes, labels, n_pixels)
        return self

    def explain_potentials(self, potentials: Potentials) -> Prediction:
        """Labels of a described graph by parts of the model, from one pass of its networks.

        Parameters
        ----------
        potentials : Potentials
            Of `potentials`.

        Returns
        -------
        Prediction
            The labels, and the sum of its interaction scores.
        """
        unary, interaction, edges = as_arrays(potentials)
        alone = solve(np.zeros_like(unary), interaction, edges).labels
        tables = interaction.sum(axis=0, dtype=np.float64)
        return Prediction(unary.argmax(axis=1), alone, self.stages_[-1].decode(potentials), tables, len(edges))

    def potentials(self, graph: Graph) -> Potentials:
        """Scores of a described graph, before inference.

        Parameters
        ----------
        graph : Graph
            From `describer_`.

        Returns
        -------
        Potentials
            Scores of every label of every region, and of every pair of labels of neighbouring regions.
        """
        return self.stages_[-1].potentials([self._transform(graph)])[0]

    def _transform(self, graph: Graph) -> Graph:
        for stage in self.stages_[:-1]:
            graph = stage.transform([graph])[0]
        return graph

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that prediction needs, in one step; no code, no pickle.

        Parameters
        ----------
        path : path
            The folder, made if need be.
        """
        check_is_fitted(self, "stages_")
        save_parts(path, self.describer_, self.stages_, learning_state(self))

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the estimators only; they go with the features that `describer_` saves elsewhere.

        Parameters
        ----------
        path : path
            The folder, made if need be.
        """
        check_is_fitted(self, "stages_")
        save_parts(path, self.describer_, self.stages_, learning_state(self), with_features=False)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, features: str | os.PathLike[str] | None = None, **options: Any
    ) -> Self:
        """The segmenter that `save` wrote.

        Parameters
        ----------
        path : path
            The folder.
        features : path, default=None
            Folder of words and scaling where that is not in `path`.
        **options
            Parameters such as `cache`, `n_jobs` and `backbone`. Those that the segmenter does not have go to its
            estimator: modules and functions given to that, such as `unary` and `interaction`, are not in the file and
            must be given again, as must a `backbone`.

        Returns
        -------
        Segmenter
            Fitted; `fit` would learn by the parameters that this one was fitted with, a generator and the classes'
            names excepted.
        """
        given = {name: options.pop(name) for name in cls._get_param_names() if name in options}
        segmenter = cls(**given)
        describer, stages, learning = load_parts(path, features, segmenter._builder_options(), options)
        segmenter.set_params(**{**learning, **given, "features": describer.builder.settings})
        segmenter.describer_, segmenter.stages_ = describer, stages
        return segmenter
