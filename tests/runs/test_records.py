from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors._runs import Accuracy, ClassInfo, Epoch, Metrics, Run, RunConfig, Search, Splits, Trial
from neuralfactors._runs.records import Examples, finite

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
    assert Epoch.of(3, record["seconds"], record) == Epoch(3, optimal=0.5, seconds={"total": 1.0}, more={"dual": 2})


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


@pytest.mark.parametrize("color", [(0, 0, 256), (-1, 0, 0)])
def test_colours_are_bytes(color):
    with pytest.raises(ValueError, match=r"color must contain numbers from 0 to 255, got \("):
        ClassInfo("sky", color)
    assert ClassInfo("sky", (0, 128, 255)).color == (0, 128, 255)


@pytest.mark.parametrize("name", ["../other", "a/b", "/tmp/a", "..", ".", ""])
def test_examples_stay_in_their_folder(name):
    with pytest.raises(ValueError, match="an example must have a plain name, got"):
        Examples(("first", name))
    assert Examples(("first", "a.b")).names == ("first", "a.b")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"search": Search(3)}, "a run must have a search if its kind is tune, and only then"),
        ({"settings": RunConfig("x", kind="tune")}, "a run must have a search if its kind is tune, and only then"),
        ({"seeds": ()}, "seeds must name at least one seed"),
    ],
)
def test_runs_that_contradict_themselves_are_refused(changes, message):
    run = Run(RunConfig("x"), {"train": 1}, (), 1, {}, "")
    with pytest.raises(ValueError, match=message):
        replace(run, **changes)


def test_a_run_ends_once():
    run = Run(RunConfig("x"), {"train": 1}, (), 1, {}, "")
    ended = run.ended()
    assert run.finished is None
    assert datetime.fromisoformat(ended.finished).tzinfo is not None
    assert replace(ended, finished="earlier").ended().finished == "earlier"


@given(share=st.floats(allow_nan=False))
def test_shares_run_from_0_to_1(share):
    if 0 <= share <= 1:
        assert Accuracy(share, None).pixel == share
    else:
        with pytest.raises(ValueError, match="pixel must be a share from 0 to 1"):
            Accuracy(share, None)
