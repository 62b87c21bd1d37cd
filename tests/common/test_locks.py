"""Locks: exclusive ones exclude, shared ones do not, and all end with their holder."""

import pytest

from neuralfactors._common.locks import locked, try_lock

pytest.importorskip("fcntl", reason="there are no locks here")


def test_one_writer_at_a_time(tmp_path):
    with locked(tmp_path):
        for shared in (False, True):
            with pytest.raises(BlockingIOError), locked(tmp_path, shared=shared, wait=False):
                pass
    with locked(tmp_path, wait=False):
        pass


def test_many_readers_and_no_writer(tmp_path):
    with (
        locked(tmp_path, shared=True),
        locked(tmp_path, shared=True, wait=False),
        pytest.raises(BlockingIOError),
        locked(tmp_path, wait=False),
    ):
        pass


def test_a_lock_ends_with_its_file(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with path.open() as one, path.open() as two:
        assert try_lock(one.fileno())
        assert not try_lock(two.fileno())
        one.close()
        assert try_lock(two.fileno())
