"""What is told of training: records, callbacks that end it, a bar on the error stream, TensorBoard's log."""

import json
import math

import numpy as np
import pytest

from neuralfactors.estimators import TensorBoard
from neuralfactors.learning import _history
from neuralfactors.learning._hinge_subgradient import Totals
from neuralfactors.learning._history import ProgressBar, closing, make_record, tell


def totals(**values):
    found = Totals()
    for name, value in values.items():
        setattr(found, name, value)
    return found


def test_sums_become_means():
    sums = totals(
        loss=6.0, graphs=4.0, gap=2.0, optimal=3.0, within_tol=4.0, negative=1.0, differing=5.0, labelled=20.0
    )
    sums.seconds.update(forward=0.1234567891)
    record = make_record(3, sums, 10.0, 2.0, 0.75)
    assert record.pop("seconds")["forward"] == 0.123457
    assert record == {
        "epoch": 3, "objective": 13.0, "hinge": 1.5, "gap": 0.5, "optimal": 0.75, "within_tol": 1.0, "negative": 0.25,
        "differing": 0.25, "accuracy": 0.75,
    }  # fmt: skip


def test_records_fit_into_json_whatever_happened():
    record = make_record(1, totals(gap=math.inf), 0.0, 1.0, None, "cross-entropy")
    assert record["gap"] is None
    assert record["cross-entropy"] == 0.0  # of no graphs
    json.dumps(record, allow_nan=False)


@pytest.mark.parametrize("answer", [True, np.True_, np.float64(2) > 1])
def test_true_ends_the_training(answer):
    assert tell([lambda _: None, lambda _: answer], {"epoch": 1})


@pytest.mark.parametrize("answer", [None, False, np.False_, 1, "stop", [0], {"epoch": 1}])
def test_nothing_else_does(answer):
    assert not tell([lambda _: answer], {"epoch": 1})


def test_all_callbacks_are_told_although_one_ends_it():
    seen = []
    assert tell([lambda _: True, seen.append], {"epoch": 7})
    assert seen == [{"epoch": 7}]
    assert not tell([], {"epoch": 1})


def test_what_can_be_closed_is_closed():
    class Closing:
        closed = False

        def close(self):
            self.closed = True

    one, other = Closing(), Closing()
    with closing([print, one]):
        assert not one.closed
    assert one.closed
    with pytest.raises(KeyboardInterrupt), closing([other, print]):
        raise KeyboardInterrupt
    assert other.closed


def test_the_bar_leaves_the_output_to_data(capsys):
    bar = ProgressBar(3, "unary factor")
    bar({"epoch": 2, "objective": 1.5, "accuracy": 0.25})
    bar({"epoch": 3, "objective": 1.25})
    bar.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert "unary factor: objective 1.25" in err


def test_tensorboard_keeps_every_number(tmp_path):
    event_accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="the extra tensorboard is not installed"
    )
    board = TensorBoard(tmp_path)
    assert list(tmp_path.iterdir()) == []  # nothing is written before there is something to write
    for epoch in (1, 2):
        board({"epoch": epoch, "objective": 2.0 / epoch, "accuracy": None, "seconds": {"forward": 0.5}})
    board.close()
    board.close()
    log = event_accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert sorted(log.Tags()["scalars"]) == ["objective", "seconds/forward"]
    assert [(event.step, event.value) for event in log.Scalars("objective")] == [(1, 2.0), (2, 1.0)]


def test_a_missing_tensorboard_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(_history, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match="tensorboard must be installed to write its logs: pip install tensorboard"):
        TensorBoard(tmp_path)
