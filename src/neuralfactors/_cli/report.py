"""The command that writes the page about a run: report."""

from __future__ import annotations

from pathlib import Path

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import echo, leads, tell


def tell_report(run: Path) -> None:
    """Write the page about a run, and say where it is."""
    from neuralfactors._report import write_report

    if leads():
        tell(f"Report, to open in a browser: {write_report(run)}")


@command("report", "neuralfactors report runs/demo")
def report(run: options.Run) -> None:
    """Write a run's report: one HTML file that works offline."""
    from neuralfactors._report import write_report

    echo(str(write_report(run)))
