"""From an image to its graph, against the straightforward pipeline of scikit-image and scikit-learn."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import harness
import numpy as np
import torch
from harness import Report, interleave
from scipy.ndimage import center_of_mass
from skimage import feature, segmentation
from skimage.color import rgb2gray, rgb2hsv
from skimage.graph import RAG
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from neuralfactors.datasets import ImageFolder, make_scenes
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import FeatureBuilder, FeatureSettings, WordSettings, region_edges
from neuralfactors.vision._descriptors import dense_daisy
from neuralfactors.vision._packing import pack
from neuralfactors.vision._regions import slic
from neuralfactors.vision._words import word_shares

# As in the reference, every descriptor counts for its nearest word.
SETTINGS = FeatureSettings(n_regions=300, words=WordSettings(softness=0))


def load_images(report: Report, quick: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Photographs of MSRC-21 with their labels, or synthetic scenes of the same size where they are absent."""
    root = Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "msrc21"
    n = 3 if quick else 12
    if root.is_dir():
        return [(sample.read_image(), sample.read_labels()) for sample in ImageFolder(root)["val"][:n]]
    report.note(f"{root} is absent: synthetic scenes of 320 x 213 pixels take the place of photographs.")
    return make_scenes(n, shape=(213, 320))


class Straightforward:
    """What one would write with scikit-image and scikit-learn, by the same definitions."""

    def __init__(self, words: dict[str, np.ndarray]) -> None:
        self.means = {name: self.as_kmeans(centres) for name, centres in words.items()}

    @staticmethod
    def as_kmeans(centres: np.ndarray) -> KMeans:
        return KMeans(len(centres), init=centres, n_init=1, max_iter=1).fit(centres)

    def regions(self, image: np.ndarray) -> np.ndarray:
        return segmentation.slic(image, SETTINGS.n_regions, SETTINGS.compactness, start_label=0)

    def daisy(self, image: np.ndarray) -> np.ndarray:
        stride, radius = SETTINGS.words.stride, SETTINGS.words.radius
        before = radius - stride // 2
        after = [stride * (-(-n // stride) - 1) + 1 + 2 * radius - before - n for n in image.shape[:2]]
        grey = np.pad(rgb2gray(image), [(before, a) for a in after], mode="symmetric")
        return feature.daisy(grey, step=stride, radius=radius)

    def edges(self, regions: np.ndarray) -> np.ndarray:
        return np.array(sorted(tuple(sorted(edge)) for edge in RAG(regions, connectivity=1).edges))

    def words(self, image: np.ndarray, lattice: np.ndarray, use: str) -> tuple[np.ndarray, np.ndarray]:
        hsv = rgb2hsv(image)
        turn = 2 * math.pi * hsv[..., 0]
        cone = np.stack([hsv[..., 1] * np.cos(turn), hsv[..., 1] * np.sin(turn), hsv[..., 2] / 2], axis=2)
        points = lattice.reshape(-1, lattice.shape[2])
        cells = self.means[f"{use}_gradient"].predict(points.astype(np.float32)).reshape(lattice.shape[:2])
        stride = SETTINGS.words.stride
        gradient = np.kron(cells, np.ones((stride, stride), dtype=int))[: image.shape[0], : image.shape[1]]
        colour = self.means[f"{use}_colour"].predict(cone.reshape(-1, 3).astype(np.float32)).reshape(image.shape[:2])
        return gradient, colour

    def bag(self, regions: np.ndarray, words: tuple[np.ndarray, np.ndarray], use: str) -> np.ndarray:
        sizes = [self.means[f"{use}_{kind}"].n_clusters for kind in ("gradient", "colour")]
        rows = []
        for region in range(regions.max() + 1):
            inside = regions == region
            counts = [np.bincount(w[inside], minlength=n) / inside.sum() for w, n in zip(words, sizes, strict=True)]
            rows.append(np.concatenate(counts))
        return np.sqrt(rows)

    def __call__(self, image: np.ndarray, regions: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """Node features, edges and edge features; of given regions where they are to be compared one by one."""
        regions = self.regions(image) if regions is None else regions
        lattice = self.daisy(image)
        node, edge = (self.bag(regions, self.words(image, lattice, use), use) for use in ("node", "edge"))
        edges = self.edges(regions)
        centres = np.array(center_of_mass(np.ones(regions.shape), regions, range(regions.max() + 1)))
        dy, dx = (centres[edges[:, 1]] - centres[edges[:, 0]]).T
        spacing = math.sqrt(regions.size / len(centres))
        geometry = np.stack([np.hypot(dy, dx) / spacing, np.arctan2(dy, dx)], axis=1)
        return node, edges, np.concatenate([edge[edges[:, 0]], edge[edges[:, 1]], geometry], axis=1)


def compare_results(
    report: Report, builder: FeatureBuilder, reference: Straightforward, images: list[np.ndarray]
) -> None:
    same_regions, same_edges, nodes, edges = [], [], [], []
    for image in images:
        same_regions.append((slic(image, SETTINGS.n_regions) == reference.regions(image)).mean())
        built = builder.transform(image)
        expected = reference(image, built.regions)
        same_edges.append(np.array_equal(built.graph.edges, expected[1]))
        nodes.append(np.abs(built.graph.node_features - expected[0]).max(axis=1))
        edges.append(np.abs(built.graph.edge_features - expected[2]).max(axis=1))
    case = "same result as the reference"
    report.at_least(case, "share of pixels in the same region", float(np.mean(same_regions)), 0.999)
    report.at_least(case, "share of images with the same edges", float(np.mean(same_edges)), 1.0)
    for name, gaps in (("nodes", np.concatenate(nodes)), ("edges", np.concatenate(edges))):
        # A point as far from one word as from another, to rounding, may count for either.
        report.at_least(case, f"share of {name} with the same features (1e-5)", float((gaps < 1e-5).mean()), 0.99)
        report.measured(case, f"largest difference of a feature of {name}", float(gaps.max()))


def compare_times(
    report: Report, builder: FeatureBuilder, reference: Straightforward, images: list[np.ndarray], repeats: int
) -> None:
    regions = [slic(image, SETTINGS.n_regions) for image in images]
    words = builder.words_ or {}
    lattices = [dense_daisy(image, radius=SETTINGS.words.radius).reshape(-1, 200) for image in images]
    predict = reference.means["node_gradient"].predict

    def over(function, items):  # one pass over all images
        return lambda: [function(item) for item in items]

    parts = {
        "image to graph": (over(builder.transform, images), over(reference, images)),
        "SLIC": (over(lambda i: slic(i, SETTINGS.n_regions), images), over(reference.regions, images)),
        "DAISY": (over(lambda i: dense_daisy(i, radius=SETTINGS.words.radius), images), over(reference.daisy, images)),
        "edges": (over(region_edges, regions), over(reference.edges, regions)),
        "nearest words": (over(lambda p: word_shares(p, words["node_gradient"]), lattices), over(predict, lattices)),
    }
    seconds = {name: interleave({"ours": ours, "reference": theirs}, repeats) for name, (ours, theirs) in parts.items()}
    whole = seconds["image to graph"]
    for name, times in seconds.items():
        case = f"{name}, {images[0].shape[1]} x {images[0].shape[0]} pixels"
        ratio = times["reference"] / times["ours"]
        report.measured(case, "milliseconds an image", 1e3 * times["ours"] / len(images))
        report.measured(case, "milliseconds an image, reference", 1e3 * times["reference"] / len(images))
        if times is whole:
            report.at_least(case, "times faster", ratio, 3)
            lean = whole["reference"] - seconds["edges"]["reference"]
            report.at_least(case, "times faster than the reference without its RAG", lean / whole["ours"], 3)
            report.at_most(case, "seconds an image, one core", whole["ours"] / len(images), 0.25)
        else:
            report.measured(case, "times faster", ratio)


def time_labels(report: Report, labelled: list[tuple[np.ndarray, np.ndarray]], repeats: int) -> None:
    """From a picture to its label map, by a model that has learnt a little: without and with pixels refined."""
    images = [image for image, _ in labelled]
    functions = {}
    for what, refine in (("whole regions", False), ("refined to pixels", True)):
        settings = FeatureSettings(n_regions=300, refine=refine)
        segmenter = Segmenter(settings, estimator=StructuralSVM((256,), (512,), max_iter=10, batch_size=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there is little to learn
            segmenter.fit(labelled)
        functions[what] = partial(lambda segmenter: [segmenter.predict_one(image) for image in images], segmenter)
    case = f"image to label map, 300 regions, {images[0].shape[1]} x {images[0].shape[0]} pixels"
    for what, seconds in interleave(functions, repeats).items():
        report.at_most(case, f"milliseconds an image, {what}, one core", 1e3 * seconds / len(images), 60)


def time_cnn(report: Report, images: list[np.ndarray]) -> None:
    settings = FeatureSettings(features="cnn")
    try:
        builder = FeatureBuilder(settings).fit(images[:1])
        seconds = interleave({"cnn": lambda: builder.transform_many(images[:2])}, 2)["cnn"]
    except ImportError as error:
        report.note(f"CNN features were not measured: {error}")
    else:
        report.measured("with CNN features (EfficientNet-lite2, twice enlarged)", "seconds an image", seconds / 2)
        fine = FeatureBuilder(replace(settings, n_regions=3000)).fit(images[:1]).transform(images[0])
        size = sum(array.nbytes for array in pack(fine.to_arrays()).values()) / 1e6
        report.at_most(f"CNN features of {fine.graph.n_nodes} regions", "megabytes in the cache", size, 7)


def measure(report: Report, quick: bool) -> None:
    """Results first, then times."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        labelled = load_images(report, quick)
        images = [image for image, _ in labelled]
        builder = FeatureBuilder(SETTINGS).fit(images)
        reference = Straightforward(builder.words_ or {})
        compare_results(report, builder, reference, images[:6])
        compare_times(report, builder, reference, images[:6], 1 if quick else 3)
        time_labels(report, labelled[:6], 1 if quick else 3)
        time_cnn(report, images)
    report.note("Times: thread CPU, median of interleaved repeats, one thread, one process.")
    report.note("Reference: slic, daisy at the same stride, RAG, KMeans.predict; histograms region by region in numpy.")


if __name__ == "__main__":
    harness.main("Features: image to graph", measure)
