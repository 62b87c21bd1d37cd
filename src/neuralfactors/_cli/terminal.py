"""Messages of a command: where they go and how loudly; errors in one sentence, exit codes."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable

from neuralfactors._common.extras import advice

INTERRUPTED = 130  # what shells expect after Ctrl-C
logger = logging.getLogger(__name__)
EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)


class Interrupted(Exception):  # noqa: N818 - it is not an error
    """Ctrl-C during a run: the message says how to continue."""


def echo(text: str = "", *, err: bool = False) -> None:
    """Write a line at once, to the stream of errors with `err`; what is no error, the first rank alone."""
    if err or leads():
        stream = sys.stderr if err else sys.stdout
        stream.write(f"{printable(text)}\n")
        stream.flush()


def overwrite(text: str = "") -> None:
    """Replace the last line of the terminal, on the stream of errors, by `text`; the next one replaces that."""
    sys.stderr.write(f"\r{printable(text)}\x1b[K")
    sys.stderr.flush()


def printable(text: str) -> str:
    r"""`text` without what would command the terminal: names in files may be anything.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    return re.sub(r"[^\n\t -~\xa0-\U0010ffff]", lambda found: f"\\x{ord(found[0]):02x}", text)


class Formatter(logging.Formatter):
    """Messages of the log, fit for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The text of `record`."""
        return printable(super().format(record))


def leads() -> bool:
    """Whether this process speaks for a command: of several under `torchrun`, the first one."""
    return os.environ.get("RANK", "0") == "0"


def guard(run: Callable[[], None], *, quiet: bool, verbose: bool) -> int:
    """The exit code of a command that `run` runs; what it raises is told in one sentence."""
    set_loudness(quiet=quiet or not leads(), verbose=verbose and leads())
    try:
        run()
    except (KeyboardInterrupt, Interrupted) as error:
        echo(str(error) or "Interrupted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads the output has had enough of it, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except EXPECTED as error:
        echo(f"Error: {sentence(error)}", err=True)
        return 1
    return 0


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
    """Send log messages to the error stream, so that the output stream has only data: errors, news, or every detail."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("neuralfactors").setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)
    if not verbose:
        warnings.simplefilter("ignore")  # of libraries, meant for their callers


def tell(text: str) -> None:
    """Print `text` unless the command is quiet."""
    logger.info("%s", text)


def progress() -> int:
    """1 if progress bars should be shown, else 0."""
    return int(logger.isEnabledFor(logging.INFO))
