"""The number of threads of BLAS, which belongs to the whole process, while several callers want one."""

import numpy as np  # noqa: F401  loads the BLAS that is looked at
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from neuralfactors.vision._blas import OneBlasThread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_threads_come_back_when_the_last_caller_has_left():
    one = OneBlasThread()
    with threadpool_limits(2, user_api="blas"):
        one.__enter__()
        with one:
            assert blas_threads() == {1}
        assert blas_threads() == {1}
        one.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_threads_come_back_after_an_error():
    one = OneBlasThread()
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError), one:
            1 / 0  # noqa: B018
        assert blas_threads() == {2}
