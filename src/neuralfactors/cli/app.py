"""The application that all commands join: version, errors in one sentence, exit codes, what is told how loudly."""

from __future__ import annotations

import inspect
import io
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

import neuralfactors
from neuralfactors.extras import advice

INTERRUPTED = 130  # what shells expect after Ctrl-C
logger = logging.getLogger(__name__)
EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)

app = typer.Typer(
    name="neuralfactors",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and results.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more of what is going on.")]


class Interrupted(Exception):  # noqa: N818 - it is not an error
    """Ctrl-C during a run: the message says how to go on."""


def command(name: str, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function the command `name`, whose help ends with `example` and whose errors are one sentence."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def guarded(*, quiet: bool, verbose: bool, **options: Any) -> None:
            set_loudness(quiet=quiet, verbose=verbose)
            try:
                function(**options)
            except (KeyboardInterrupt, Interrupted) as error:
                typer.echo(str(error) or "Interrupted.", err=True)
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:  # whoever reads the output has had enough of it, as `head` has
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit from None
            except EXPECTED as error:
                typer.echo(f"Error: {sentence(error)}", err=True)
                raise typer.Exit(1) from None

        guarded.__doc__ = function.__doc__
        _take_parameters(guarded, function)
        app.command(name, epilog=f"Example: {example}")(guarded)
        return function

    return decorate


def _take_parameters(guarded: Callable[..., None], function: Callable[..., None]) -> None:
    # Typer reads a command's options from its signature: those of `function`, and how loud to be.
    hints = get_type_hints(function, include_extras=True)
    known = [p.replace(annotation=hints[p.name]) for p in inspect.signature(function).parameters.values()]
    common = {"quiet": Quiet, "verbose": Verbose}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    known += [inspect.Parameter(name, kind, default=False, annotation=hint) for name, hint in common.items()]
    guarded.__signature__ = inspect.Signature(known)  # type: ignore[attr-defined]
    guarded.__annotations__ = {p.name: p.annotation for p in known}


def sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = "there is not enough memory"
    elif isinstance(error, ModuleNotFoundError):
        text = advice("this command", error, "segment")
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def set_loudness(*, quiet: bool, verbose: bool) -> None:
    """Send log messages to the error stream, which leaves the other one to data: errors, news, or every detail."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("neuralfactors").setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)
    if not verbose:
        warnings.simplefilter("ignore")  # of libraries, meant for their callers


def tell(text: str) -> None:
    """Say `text`, unless asked to be quiet."""
    logger.info("%s", text)


def progress() -> int:
    """1 where progress bars are welcome, else 0."""
    return int(logger.isEnabledFor(logging.INFO))


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


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    # Before torch is imported: threads that wait by spinning make training many times slower where cores are shared.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Dashes and names that its encoding has not are written as escapes, as on the error stream.
        sys.stdout.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # schedulers end jobs with it: the same as Ctrl-C
    app(prog_name="neuralfactors")
