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
from neuralfactors._cli.bare import COMMANDS

__all__ = ["app"]

# As help lists them: in the order in which one needs them.
ORDER = (
    *("demo", "train", "resume", "predict", "evaluate", "report", "info"),
    *("compare", "tune", "claims", "prepare", "convert", "solve", "doctor"),
)

for function, example in COMMANDS:
    command(function.__name__, example)(function)
app.registered_commands.sort(key=lambda each: ORDER.index(each.name or ""))
