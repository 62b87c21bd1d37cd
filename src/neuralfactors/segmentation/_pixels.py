"""A small network that labels pixels by a bank of filters, and with it label maps that are finer than regions.

A region has one label. Near the borders between labels, where regions are most often wrong, each pixel takes one of the
labels of its region and of that region's neighbours: the one that its own look and the scores of its region favour.
These scores know how frequent labels are; the look says only how much likelier it makes one, lest that count twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from neuralfactors.learning._optimizers import OPTIMIZERS
from neuralfactors.learning._threads import one_thread
from neuralfactors.segmentation._labelled_images import LabelledImage, check_label_map
from neuralfactors.vision._blas import one_blas_thread
from neuralfactors.vision._filters import filter_responses
from neuralfactors.vision._region_geometry import enlarge, region_edges

LOOKED_AT, PIXELS = 50, 4000  # training images, evenly spaced, and pixels of each
HIDDEN, BATCH, RATE = 32, 1024, 0.003
EPOCHS, STEPS = 40, 2000  # passes over the pixels, and the most steps that these may take
SEEN = 100  # pixels of a label, with fewer of which the network has no say in it

View = Callable[[LabelledImage], NDArray[np.uint8]]


@dataclass(frozen=True, eq=False)
class PixelNetwork:
    """Labels of pixels by what is around them: one hidden layer on the responses of filters."""

    mean: NDArray[np.float32]  # (D,) of the responses
    scale: NDArray[np.float32]  # (D,) what they are multiplied by after that
    inner: NDArray[np.float32]  # (D, H)
    inner_bias: NDArray[np.float32]  # (H,)
    outer: NDArray[np.float32]  # (H, L)
    outer_bias: NDArray[np.float32]  # (L,); −∞ of labels that it has hardly seen

    @classmethod
    def learn(cls, samples: Sequence[LabelledImage], view: View, n_labels: int, seed: int) -> Self | None:
        """The network that training images teach, by their `view` (h, w, 3) as features see it; None without labels.

        Fifty of them are looked at. The `seed` is that of which pixels are drawn, and of training.
        """
        rng, drawn = np.random.default_rng(seed), []
        for sample in samples[:: -(-len(samples) // LOOKED_AT)]:
            image = view(sample)
            labels = enlarge(check_label_map(sample.read_labels(), sample.name), (image.shape[0], image.shape[1]))
            known = np.flatnonzero(labels >= 0)
            if len(known):
                chosen = rng.choice(known, min(PIXELS, len(known)), replace=False)
                drawn.append((filter_responses(image, chosen), labels.ravel()[chosen]))
        if not drawn:
            return None
        X, y = (np.concatenate(part) for part in zip(*drawn, strict=True))
        mean, scale = X.mean(axis=0), 1 / np.maximum(X.std(axis=0), 1e-6)
        counts = np.bincount(y, minlength=n_labels)
        inner, outer = _trained((X - mean) * scale, y, counts, seed)
        layers = [part.detach().numpy() for layer in (inner, outer) for part in (layer.weight.T, layer.bias)]
        layers[-1] = np.where(counts < SEEN, np.float32(-np.inf), layers[-1])
        return cls(mean, scale, *(np.ascontiguousarray(layer) for layer in layers))

    def scores(self, responses: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log-likelihoods (N, L), but for a constant a pixel, of labels by these `responses` (N, D) of filters."""
        inner = self.scale[:, None] * self.inner
        hidden = responses @ inner
        hidden += self.inner_bias - self.mean @ inner
        np.maximum(hidden, 0, out=hidden)
        scores = hidden @ self.outer
        scores += self.outer_bias
        return np.asarray(scores, dtype=np.float32)

    def refine(
        self,
        image: NDArray[np.uint8],
        regions: NDArray[np.int32],
        labels: NDArray[np.int64],
        scores: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Label (h, w) of every pixel. Labels that the network has hardly seen are those of whole regions.

        The `image` is as features see it. Its `regions` (h, w) have the `labels` (V,) of joint prediction, and as
        `scores` (V, L) their log-probabilities where all others have theirs, but for a constant.
        """
        painted = labels[regions]
        seen = np.isfinite(self.outer_bias)
        allowed = candidates(regions, labels, scores.shape[1]) & seen & seen[labels][:, None]
        undecided = np.flatnonzero((allowed.sum(axis=1) > 1)[regions])
        if len(undecided):
            region = regions.ravel()[undecided]
            with one_blas_thread:  # labels must not depend on cores, which are busy with other pictures
                of_pixels = self.scores(filter_responses(image, undecided))
            of_pixels += np.where(allowed, scores, np.float32(-np.inf))[region]
            painted.ravel()[undecided] = of_pixels.argmax(axis=1)
        return np.asarray(painted, dtype=np.int64)


def candidates(regions: NDArray[np.int32], labels: NDArray[np.int64], n_labels: int) -> NDArray[np.bool_]:
    """Which labels (V, L) each of `regions` (h, w) or one that touches it has, where they have `labels` (V,)."""
    allowed = np.zeros((len(labels), n_labels), dtype=bool)
    allowed[np.arange(len(labels)), labels] = True
    one, other = region_edges(regions).T
    allowed[one, labels[other]] = allowed[other, labels[one]] = True
    return allowed


def _trained(
    X: NDArray[np.float32], y: NDArray[np.int64], counts: NDArray[np.int64], seed: int
) -> tuple[nn.Linear, nn.Linear]:
    """The two layers, trained by Adam with a rate that falls to zero.

    What follows from the frequency of labels (L,) alone is added while they learn, so that they need not know it.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        inner, outer = nn.Linear(X.shape[1], HIDDEN), nn.Linear(HIDDEN, len(counts))
    network = nn.Sequential(inner, nn.ReLU(), outer)
    optimizer = OPTIMIZERS["adam"](network.parameters(), RATE)
    n_steps = min(STEPS, -(-EPOCHS * len(y) // BATCH))
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, n_steps)
    features, labels = torch.from_numpy(np.asarray(X, dtype=np.float32)), torch.from_numpy(y)
    known = torch.from_numpy(np.log(np.maximum(counts, 1) / len(y)).astype(np.float32))
    order = torch.Generator().manual_seed(seed)
    with one_thread():
        for _ in range(n_steps):
            rows = torch.randint(len(labels), (BATCH,), generator=order)
            optimizer.zero_grad()
            torch.autograd.backward(cross_entropy(network(features[rows]) + known, labels[rows]))
            optimizer.step()
            falling.step()
    return inner, outer
