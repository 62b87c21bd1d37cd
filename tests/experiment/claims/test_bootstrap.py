"""The bootstrap: measures that agree with Scores, intervals that cover, and pairs that share their draws."""

import numpy as np
import pytest

from neuralfactors._experiment.claims.bootstrap import MEASURES, paired
from neuralfactors.metrics import Scores


def draw_counts(rng, n_seeds, n_images, share):
    """Confusions of two classes: of 100 pixels an image, about `share` are right."""
    right = rng.binomial(50, share, (n_seeds, n_images, 2))
    counts = np.zeros((n_seeds, n_images, 2, 2))
    counts[..., [0, 1], [0, 1]], counts[..., [0, 1], [1, 0]] = right, 50 - right
    return counts


def test_measures_are_those_of_scores():
    confusion = np.random.default_rng(0).integers(0, 9, (4, 4)).astype(float)
    confusion[2] = 0  # a class that does not occur
    scores = Scores(confusion)
    assert MEASURES["pixel"](confusion) == pytest.approx(scores.pixel_accuracy)
    assert MEASURES["class_mean"](confusion) == pytest.approx(scores.class_mean_accuracy)


@pytest.mark.parametrize("measure", MEASURES)
def test_intervals_find_a_difference_and_only_then(measure):
    rng = np.random.default_rng(1)
    base, same, better = (draw_counts(rng, 5, 80, share) for share in (0.7, 0.7, 0.8))
    found = paired(better, base, measure)
    assert found.low > 0.05
    assert found.value == pytest.approx(0.1, abs=0.02)
    nothing = paired(same, base, measure)
    assert nothing.low < 0 < nothing.high


def test_what_two_models_share_does_not_widen_the_interval():
    rng = np.random.default_rng(2)
    hard = rng.uniform(0.2, 1.0, 60)  # images differ far more than models do
    base = np.stack([draw_counts(rng, 3, 1, share)[:, 0] for share in hard], axis=1)
    better = base.copy()
    better[..., 0, 0] += 1
    better[..., 0, 1] -= 1
    found = paired(better, base, "pixel")
    assert (found.value, found.low, found.high) == pytest.approx((0.01,) * 3)


def test_coverage():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(40):
        one, other = draw_counts(rng, 5, 40, 0.75), draw_counts(rng, 5, 40, 0.7)
        found = paired(one, other, "pixel")
        inside += found.low <= 0.05 <= found.high
    assert inside >= 33
