"""The command line: a file a command. What takes long to import is imported when a command runs."""

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
    solve,
    train,
    tune,
)
from neuralfactors.cli.app import app, main

__all__ = ["app", "main"]
