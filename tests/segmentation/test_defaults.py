"""Numbers for training on images: from how many there are, and from what describes them."""

import pytest

from neuralfactors.segmentation import default_parameters
from neuralfactors.segmentation._defaults import WITH_CNN, default_batch_size, default_pretrain


@pytest.mark.parametrize(("n_images", "batch_size", "pretrain"), [(276, 12, 0), (40, 2, 15), (3, 1, 100)])
def test_batches_pretraining_and_rates(n_images, batch_size, pretrain):
    words = default_parameters(n_images, {}, cnn=False)
    cnn = default_parameters(n_images, WITH_CNN, cnn=True)
    assert words["batch_size"] == cnn["batch_size"] == default_batch_size(n_images) == batch_size
    assert (words["trainer__pretrain"], cnn["trainer__pretrain"]) == (pretrain, 2 * pretrain or 27)
    assert (words["max_iter"], cnn["max_iter"]) == (25, 107 if n_images == 3 else 16)
    names = ("trainer__learning_rate", "trainer__interaction_learning_rate")
    assert [words[name] for name in names] == ([0.01, 0.003] if n_images >= 50 else [0.001, 0.001])
    assert [cnn[name] for name in (*names, "trainer__pretrain_learning_rate")] == [0.00001, 0.01, 0.001]
    assert "auto" not in [*words.values(), *cnn.values()]


def test_given_parameters_stay_and_pretraining_goes_by_them():
    found = default_parameters(30, {"batch_size": 10, "C": 5.0}, cnn=False)
    assert (found["C"], found["trainer__pretrain"]) == (5.0, 100)
    assert default_parameters(30, {"trainer__pretrain": 2}, cnn=False)["trainer__pretrain"] == 2


@pytest.mark.parametrize(("batch_size", "epochs"), [(None, 300), (5, 60), ("auto", 12), (0, 300), ("much", 300)])
def test_pretraining_with_any_batch_size(batch_size, epochs):
    """What cannot be is the estimator's to refuse."""
    assert default_pretrain(25, batch_size, few=True, cnn=False) == epochs
