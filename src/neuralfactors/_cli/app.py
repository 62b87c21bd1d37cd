"""The application that all commands join: their names, examples and options, the version."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import typer

import neuralfactors
from neuralfactors._cli.parameters import QUIET, VERBOSE, Argument, Option
from neuralfactors._cli.terminal import guard

app = typer.Typer(
    name="neuralfactors",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def command(name: str, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function the command `name`, whose help ends with `example` and whose errors are one sentence."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def guarded(*, quiet: bool, verbose: bool, **options: Any) -> None:
            code = guard(partial(function, **options), quiet=quiet, verbose=verbose)
            if code:
                raise typer.Exit(code)

        guarded.__doc__ = function.__doc__
        _take_parameters(guarded, function)
        app.command(name, epilog=f"Example: {example}")(guarded)
        return function

    return decorate


def _take_parameters(guarded: Callable[..., None], function: Callable[..., None]) -> None:
    """Give `guarded` the parameters of `function`, and those that say how loud to be."""
    # Typer reads a command's options from its signature.
    hints = get_type_hints(function, include_extras=True)
    known = [p.replace(annotation=_for_typer(hints[p.name])) for p in inspect.signature(function).parameters.values()]
    common = {"quiet": Annotated[bool, QUIET], "verbose": Annotated[bool, VERBOSE]}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    known += [inspect.Parameter(n, kind, default=False, annotation=_for_typer(hint)) for n, hint in common.items()]
    guarded.__signature__ = inspect.Signature(known)  # type: ignore[attr-defined]
    guarded.__annotations__ = {p.name: p.annotation for p in known}


def _for_typer(hint: Any) -> Any:
    kind, said = get_args(hint)
    if isinstance(said, Argument):
        return Annotated[kind, typer.Argument(help=said.help, metavar=said.metavar)]
    if isinstance(said, Option):
        shown = True if said.told_default is None else said.told_default
        return Annotated[kind, typer.Option(*said.flags, help=said.help, metavar=said.metavar, show_default=shown)]
    return hint


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(neuralfactors.__version__)
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Segment images with context: from a folder of labelled pictures to a model and label maps.

    Or find the best labelling of any MAP problem in a file.
    """
