"""What commands say when they fail: one line each, and the exit code that scripts look at."""

import logging

import pytest

from neuralfactors._cli.terminal import INTERRUPTED, Formatter, Interrupted, echo, guard, sentence


@pytest.fixture(autouse=True)
def loudness_as_before():
    ours, root = logging.getLogger("neuralfactors"), logging.getLogger()
    level, handlers = ours.level, list(root.handlers)
    yield
    ours.setLevel(level)
    root.handlers[:] = handlers


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("two\n  lines"), "two lines"),
        (FileNotFoundError(2, "No such file or directory", "runs/none"), "runs/none: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError(), "there is not enough memory"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_errors_are_one_line(error, expected):
    assert sentence(error) == expected


def test_names_in_files_do_not_command_the_terminal(capsys):
    echo("\x1b]0;title\x07 \x9b31m été → 1\t2")
    assert capsys.readouterr().out == "\\x1b]0;title\\x07 \\x9b31m été → 1\t2\n"
    record = logging.LogRecord("", logging.INFO, "", 0, "%s", ("\x1b[31mred",), None)
    assert Formatter("%(message)s").format(record) == "\\x1b[31mred"


def test_exit_codes(capsys):
    def fail(error):
        raise error

    codes = [
        guard(lambda error=error: fail(error), quiet=False, verbose=True)
        for error in (ValueError("no"), Interrupted("go on by resume"), KeyboardInterrupt())
    ]
    assert codes == [1, INTERRUPTED, INTERRUPTED]
    assert guard(lambda: None, quiet=False, verbose=True) == 0
    assert capsys.readouterr().err.splitlines() == ["Error: no", "go on by resume", "Interrupted."]


def test_a_mistake_of_ours_is_not_hidden():
    with pytest.raises(KeyError):
        guard(lambda: {}["missing"], quiet=True, verbose=True)
