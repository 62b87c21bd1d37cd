"""The command that writes the page about a run: report."""

from __future__ import annotations

from neuralfactors.cli import options
from neuralfactors.cli.app import command
from neuralfactors.cli.terminal import echo


@command("report", "neuralfactors report runs/demo")
def report(run: options.Run) -> None:
    """Write a run's report: one HTML file that needs no network."""
    from neuralfactors.report import write_report

    echo(str(write_report(run)))
