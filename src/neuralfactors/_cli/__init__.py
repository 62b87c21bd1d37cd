"""The command line: one file per command. Slow imports wait until a command runs."""

from __future__ import annotations

import io
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    # Before torch is imported: threads that wait by spinning make training many times slower where cores are shared.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that its encoding lacks are written as escapes, as on the error stream.
        sys.stdout.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # schedulers end jobs with it: the same as Ctrl-C
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        from neuralfactors._cli.bare import run

        sys.exit(run(sys.argv[1:], error))
    from neuralfactors._cli.commands import app

    app(prog_name="neuralfactors")
