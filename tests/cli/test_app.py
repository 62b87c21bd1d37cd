"""The application: help, completion, exit codes, streams, signals."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import neuralfactors
from neuralfactors._common.files import sealed

COMMANDS = (
    *("demo", "train", "resume", "predict", "evaluate", "report", "info"),
    *("compare", "tune", "claims", "prepare", "convert", "solve", "doctor"),
)


def test_script_and_module_are_the_same_command():
    script = Path(sys.executable).with_name("neuralfactors")
    for command in ([str(script)], [sys.executable, "-m", "neuralfactors"]):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=240, check=True)
        assert result.stdout.strip() == neuralfactors.__version__


def test_help_does_not_wait_for_torch():
    code = "import sys, neuralfactors._cli; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(call, command):
    result = call(command, "--help")
    assert result.code == 0
    assert f"Example: neuralfactors {command}" in result.out
    assert "--quiet" in result.out
    assert "--verbose" in result.out
    assert not re.search(r"<\w+", result.out.split("Options:")[1])  # every value has a name, not a type of Python


def test_help_lists_all_commands_in_the_order_of_their_use_with_a_whole_sentence_each(call):
    result = call("--help")
    listed = [line.split(maxsplit=1) for line in result.out.split("Commands:")[1].splitlines() if line.strip()]
    assert tuple(name for name, _ in listed) == COMMANDS
    assert all(about.endswith(".") and not about.endswith("...") for _, about in listed)


def test_shell_completion(call):
    assert "--install-completion" in call("--help").out
    script = str(Path(sys.executable).with_name("neuralfactors"))
    typed = {"COMP_WORDS": "neuralfactors pre", "COMP_CWORD": "1", "_NEURALFACTORS_COMPLETE": "complete_bash"}
    result = subprocess.run([script], env={**os.environ, **typed}, capture_output=True, text=True, timeout=240)
    assert result.stdout.split() == ["predict", "prepare"]


def test_usage_errors_have_their_own_code(call):
    result = call("train")
    assert result.code == 2
    assert "DATA" in result.err


def test_an_output_of_few_characters_is_no_error(trained, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    document = json.loads((trained / "run.json").read_text())
    document["settings"]["data"] = "a\udce4b → c"  # not UTF-8, and not Latin 1
    (copy / "run.json").write_text(json.dumps(sealed(document)))
    for encoding, data in (("utf-8", b"a\\udce4b \xe2\x86\x92 c"), ("latin-1", b"a\\udce4b \\u2192 c")):
        words = [sys.executable, "-m", "neuralfactors", "info", str(copy)]
        result = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding})
        assert (result.returncode, result.stderr) == (0, b"")
        assert data in result.stdout
        assert b"waiting" in result.stdout


def test_a_reader_that_has_had_enough_is_no_error(trained):
    words = [sys.executable, "-m", "neuralfactors", "info", str(trained), "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=240) == 0
