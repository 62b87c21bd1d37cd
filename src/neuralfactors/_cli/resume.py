"""The command that continues a run: resume."""

from __future__ import annotations

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.report import tell_report
from neuralfactors._cli.terminal_tables import show_results
from neuralfactors._runs import RunFolder


@command("resume", "neuralfactors resume runs/photos")
def resume(
    run: options.Run,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
) -> None:
    """Continue an interrupted run.

    A finished run stays as it is.
    """
    from neuralfactors import _experiment as experiment

    with options.resumable(run):
        experiment.resume(run, options.means(cache, jobs, dask))
    show_results(run)
    if not RunFolder(run).run().search:
        tell_report(run)
