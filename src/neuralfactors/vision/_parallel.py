"""One function over many items: in this process, its threads, other processes or a Dask cluster; in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_items(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    total: int,
    n_jobs: int = 1,
    dask: str | None = None,
    threads: bool = False,
    progress: str | None = None,
    ordered: bool = True,
) -> Iterator[Result]:
    """Results of `function`, as they become ready: in the order of `items`, unless they need not be `ordered`.

    `n_jobs` is a number of processes or `threads`, as in joblib: −1 is one per core. Threads are for functions that
    mostly run without the interpreter's lock; what goes to processes must pickle. `dask` is the address of a scheduler
    that runs the function instead of this machine (needs the extra ``dask``). The text `progress` precedes a progress
    bar of `total`.
    """
    with _dask_backend(dask) if dask else nullcontext():
        if dask is None and n_jobs == 1:
            results: Iterable[Result] = map(function, items)
        else:
            jobs = (joblib.delayed(function)(item) for item in items)
            return_as = "generator" if ordered else "generator_unordered"
            prefer = "threads" if threads else "processes"
            results = joblib.Parallel(n_jobs=-1 if dask else n_jobs, return_as=return_as, prefer=prefer)(jobs)
        yield from _with_bar(results, progress, total) if progress else results


def _with_bar(results: Iterable[Result], title: str, total: int) -> Iterable[Result]:
    from rich.console import Console
    from rich.progress import track

    # On the error stream: what a command writes to the other is data.
    return track(results, title, total, console=Console(stderr=True))


@contextmanager
def _dask_backend(address: str) -> Iterator[None]:
    """Joblib inside works on the cluster of the scheduler at `address`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("a Dask cluster needs the package distributed: pip install 'neuralfactors[dask]'") from error
    client = Client(address)  # type: ignore[no-untyped-call]
    with client, joblib.parallel_config(backend="dask", client=client, wait_for_workers_timeout=30):
        yield
