"""One function over many items, by whatever does the work."""

import os
import threading

import pytest

from neuralfactors.vision._parallel import map_items


def square(n):
    return n * n


def place(_):
    return os.getpid(), threading.get_ident()


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"n_jobs": 2, "threads": True}])
def test_results_come_in_order(options):
    assert list(map_items(square, iter(range(20)), total=20, **options)) == [n * n for n in range(20)]


def test_each_is_there_whatever_the_order():
    assert sorted(map_items(square, range(20), total=20, n_jobs=2, ordered=False)) == [n * n for n in range(20)]


def test_threads_are_of_this_process_and_processes_are_not():
    here = place(None)
    assert set(map_items(place, range(3), total=3)) == {here}
    by_threads = set(map_items(place, range(8), total=8, n_jobs=2, threads=True))
    assert {process for process, _ in by_threads} == {here[0]}
    assert here not in by_threads
    assert here[0] not in {process for process, _ in map_items(place, range(8), total=8, n_jobs=2)}


@pytest.mark.filterwarnings("ignore:.*tasks have been successfully executed")
@pytest.mark.parametrize("threads", [False, True])
def test_items_are_taken_as_they_are_needed(threads):
    taken = []

    def items():
        for n in range(1000):
            taken.append(n)
            yield n

    results = map_items(square, items(), total=1000, n_jobs=2 if threads else 1, threads=threads)
    assert next(results) == 0
    assert len(taken) < 1000
    results.close()
