"""What a fitted segmenter says of pictures: label maps, probabilities, confidence and explanations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from neuralfactors._core.potentials import Potentials
from neuralfactors.segmentation._explanation import Explanation
from neuralfactors.segmentation._graph_labeller import GraphLabeller
from neuralfactors.segmentation._graph_prediction import each_on_all_cores
from neuralfactors.segmentation._labelled_images import Picture, Pictures, picture_source, read_picture, to_pictures
from neuralfactors.vision import ImageGraph
from neuralfactors.vision._channels import rgb_of
from neuralfactors.vision._sources import ImageSource


class PictureLabeller(GraphLabeller):
    """Base of `Segmenter`: pictures in, maps of their size out."""

    def predict(self, images: Pictures, *, split: str = "test") -> list[NDArray[np.int64]]:
        """Label maps of images, on all cores.

        Parameters
        ----------
        images : sequence of pictures, or anything that `fit` takes
            A picture is a uint8 array (H, W, 3), the path of a file or a `PreparedImage`; labels are not looked at.
        split : str, default="test"
            Which part of an `ImageFolder` to label.

        Returns
        -------
        list of ndarray of shape (H, W)
            A map per image, of its size; labels number `class_names`.

        See Also
        --------
        predict_one : The same of a single image.
        """
        return list(each_on_all_cores(self.predict_one, to_pictures(images, split)))

    def predict_one(self, image: Picture) -> NDArray[np.int64]:
        """Label map of one image.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or path
            The picture, or its file.

        Returns
        -------
        ndarray of shape (H, W)
            Labels, which number `class_names`.
        """
        return self._labelled(image)[0]

    def predict_proba(self, images: Pictures, *, split: str = "test") -> list[NDArray[np.float32]]:
        """Probabilities of the labels of every pixel, which are those of its region.

        They are the marginals of `predict_proba` of the estimator; `calibrate` makes them mean what they say. Where
        maps are refined, a label that `predict` gives near a border need not be the most probable one of the region.

        Parameters
        ----------
        images : sequence of pictures, or anything that `fit` takes
            As in `predict`.
        split : str, default="test"
            Which part of an `ImageFolder` to look at.

        Returns
        -------
        list of ndarray of shape (H, W, L)
            An array per image, whose entries for a pixel sum to 1.
        """
        return list(each_on_all_cores(self._proba_of, to_pictures(images, split)))

    def confidence(self, image: Picture) -> NDArray[np.float32]:
        """Confidence in the predicted label of every pixel of one image; see `predict_proba`.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or path
            The picture, or its file.

        Returns
        -------
        ndarray of shape (H, W)
            From 0 to 1.
        """
        return self.predict_with_confidence(image)[1]

    def predict_with_confidence(self, image: Picture) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """What `predict_one` and `confidence` say of an image, which is described once for both.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or path
            The picture, or its file.

        Returns
        -------
        labels, confidence : ndarray of shape (H, W)
            Labels, and from 0 to 1 how sure they are.
        """
        labels, described, potentials = self._labelled(image)
        return labels, self.region_proba(potentials)[described.full_regions, labels]

    def explain(self, image: Picture) -> Explanation:
        """Label maps by the unary factors alone, by the interaction factors alone, and by both.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or path
            The picture, or its file.

        Returns
        -------
        Explanation
            The three maps; `picture` shows them side by side.
        """
        picture = rgb_of(read_picture(image))
        source, described, potentials = self._described(image)
        found = self.explain_potentials(potentials)
        maps = {part: described.paint(labels) for part, labels in found.by_part.items()}
        maps["joint"] = self.paint(source, described, potentials, found.joint)
        return Explanation(**maps, image=picture, palette=self.describer_.classes.palette)

    def _proba_of(self, image: Picture) -> NDArray[np.float32]:
        _, described, potentials = self._described(image)
        return described.paint(self.region_proba(potentials))

    def _labelled(self, image: Picture) -> tuple[NDArray[np.int64], ImageGraph, Potentials]:
        """The label map of an image, its regions and their potentials."""
        source, described, potentials = self._described(image)
        return self.paint(source, described, potentials, self.stages_[-1].decode(potentials)), described, potentials

    def _described(self, image: Picture) -> tuple[ImageSource, ImageGraph, Potentials]:
        """What reads an image, its regions and their potentials."""
        check_is_fitted(self, "stages_")
        source = picture_source(image)
        described, graph = self.describer_.graph(source)
        return source, described, self.potentials(graph)
