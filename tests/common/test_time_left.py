"""How far a long task is."""

import pytest

from neuralfactors._common.time_left import told_progress


@pytest.mark.parametrize(
    ("done", "total", "seconds", "told"),
    [
        (1, 2, 0.01, "1 of 2 done, about 1 s left"),
        (1, 3, 20.0, "1 of 3 done, about 40 s left"),
        (2, 3, 250.0, "2 of 3 done, about 2 min left"),
        (1, 11, 900.0, "1 of 11 done, about 2 h left"),
        (0, 3, 5.0, "0 of 3 done"),
        (3, 3, 5.0, "3 of 3 done"),
    ],
)
def test_the_rest_takes_as_long_as_what_is_done(done, total, seconds, told):
    assert told_progress(done, total, seconds) == told
