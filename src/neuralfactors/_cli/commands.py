"""All commands in one application."""

from neuralfactors._cli import (  # noqa: F401 - each joins the application
    claims,
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
from neuralfactors._cli.app import app, command
from neuralfactors._cli.solve import EXAMPLE, solve

__all__ = ["app"]

command("solve", EXAMPLE)(solve)
