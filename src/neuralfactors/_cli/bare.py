"""The command line of an installation without extras: solve and doctor, parsed by the standard library."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import neuralfactors
from neuralfactors._cli import doctor, solve
from neuralfactors._cli.parameters import QUIET, VERBOSE, Argument
from neuralfactors._cli.terminal import echo, guard
from neuralfactors._common.extras import advice

COMMANDS: tuple[tuple[Callable[..., None], str], ...] = ((solve.solve, solve.EXAMPLE), (doctor.doctor, doctor.EXAMPLE))


def run(words: Sequence[str], missing: ModuleNotFoundError) -> int:
    """The exit code of the command line `words`; others say what they are `missing`."""
    others = advice("every command but solve and doctor", missing, "segment")
    known = {function.__name__: function for function, _ in COMMANDS}
    if words and words[0] not in known and not words[0].startswith("-"):
        echo(f"Error: {others}", err=True)
        return 1
    options = vars(_parser(others).parse_args(words))
    if "quiet" not in options:
        _parser(others).print_help()
        return 0
    loudness = {name: options.pop(name) for name in ("quiet", "verbose")}
    return guard(partial(known[words[0]], **options), **loudness)


def _parser(epilog: str) -> ArgumentParser:
    """The parser of all commands that run without typer."""
    parser = ArgumentParser("neuralfactors", epilog=epilog)
    parser.add_argument("--version", action="version", version=neuralfactors.__version__)
    commands = parser.add_subparsers(title="commands")
    for function, example in COMMANDS:
        about = inspect.getdoc(function) or ""
        found = commands.add_parser(
            function.__name__,
            help=about.splitlines()[0],
            description=about,
            epilog=f"Example: {example}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            _add(found, name, hints[name], parameter.default)
        for name, option in (("quiet", QUIET), ("verbose", VERBOSE)):
            _add(found, name, Annotated[bool, option], False)
    return parser


def _add(parser: ArgumentParser, name: str, hint: Any, default: Any) -> None:
    kind, said = get_args(hint)
    make = next(each for each in (*get_args(kind), kind) if each is not type(None))  # of `Path | None`, Path
    if isinstance(said, Argument):
        parser.add_argument(name, metavar=said.metavar, help=said.help, type=make)
        return
    flags, shown = said.flags or (f"--{name.replace('_', '-')}",), said.told_default or default
    told = {"dest": name, "default": default, "help": said.help + (f" [default: {shown}]" if shown is not None else "")}
    if make is bool:
        parser.add_argument(*flags, action="store_true", **{**told, "help": said.help})
    else:
        parser.add_argument(*flags, type=make, metavar=said.metavar, **told)
