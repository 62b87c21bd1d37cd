"""All commands in one application."""

from neuralfactors.cli import (  # noqa: F401 - each joins the application
    compare,
    convert,
    demo,
    evaluate,
    info,
    predict,
    prepare,
    report,
    resume,
    train,
    tune,
)
from neuralfactors.cli.app import app, command
from neuralfactors.cli.solve import EXAMPLE, solve

__all__ = ["app"]

command("solve", EXAMPLE)(solve)
