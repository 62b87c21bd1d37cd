"""The command that writes the page about a run: report."""

from __future__ import annotations

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import echo


@command("report", "neuralfactors report runs/demo")
def report(run: options.Run) -> None:
    """Write a run's report: one HTML file that needs no network."""
    from neuralfactors._report import write_report

    echo(str(write_report(run)))
