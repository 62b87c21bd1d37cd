from dataclasses import replace

import numpy as np
import pytest

from neuralfactors._runs import Accuracy, Epoch, Metrics, Run, RunConfig, Splits, Trial
from neuralfactors._runs.records import finite

METRICS = Metrics("test", 2, 0.5, 0.4, None, (0.5, None), (0.2, None), np.eye(2, dtype=np.int64))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pixel": 50.0}, "pixel must be a share from 0 to 1, got 50.0"),
        ({"per_class": (0.1, 1.5)}, "per_class 1 must be a share from 0 to 1, got 1.5"),
        ({"iou": (0.1,)}, "must have the same number of classes"),
        ({"interactions": np.ones((3, 3))}, "must have the same number of classes"),
    ],
)
def test_metrics_are_shares_of_one_number_of_classes(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(METRICS, **changes)


def test_other_accuracies_are_shares_too():
    for make in (lambda: Accuracy(50.0, None), lambda: Trial(0, "coarse", {}, score=50.0)):
        with pytest.raises(ValueError, match=r"must be a share from 0 to 1, got 50\.0"):
            make()


def test_an_epoch_of_any_learner():
    record = {"epoch": 3, "hinge": float("inf"), "accuracy": None, "optimal": 0.5, "dual": 2, "seconds": {"total": 1.0}}
    assert Epoch.of(record) == Epoch(3, optimal=0.5, seconds={"total": 1.0}, more={"dual": 2})


def test_finite_numbers():
    assert [finite(value) for value in (1, 0.5, float("nan"), float("inf"), None, "1")] == [
        1,
        0.5,
        None,
        None,
        None,
        None,
    ]


def test_images_of_a_run():
    run = Run(RunConfig("x", splits=Splits(holdout=2)), {"rest": 4, "holdout": 2, "test": 0}, (), 1, {}, "")
    assert (run.n_train, run.has_test) == (4, False)
    assert replace(run, splits={"train": 6}).has_test
