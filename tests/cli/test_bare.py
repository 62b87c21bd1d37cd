"""The command line where the packages of the extras are missing: solve works, the rest says what to install."""

import inspect

import pytest

from neuralfactors import inference
from neuralfactors._cli.bare import run
from neuralfactors._cli.solve import solve

MISSING = ModuleNotFoundError("No module named 'typer'", name="typer")
ADVICE = "every command but solve and doctor needs the package typer: pip install 'neuralfactors[segment]'"


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.uai"
    path.write_text("MARKOV 2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n")
    return str(path)


def test_solve_works(problem, tmp_path, capsys):
    options = ["--method", "trws", "--max-iter", "5", "--tol", "1e-3", "-o", str(tmp_path / "labels"), "--quiet"]
    assert run(["solve", problem, *options], MISSING) == 0
    assert "score:   1.38629436112\n" in capsys.readouterr().out
    assert (tmp_path / "labels").read_text() == "MPE\n2 1 1\n"


def test_errors_are_one_sentence(problem, capsys):
    assert run(["solve", f"{problem}.txt"], MISSING) == 1
    assert capsys.readouterr().err.startswith("Error: ")
    assert run(["train", "photos"], MISSING) == 1
    assert capsys.readouterr().err == f"Error: {ADVICE}\n"
    with pytest.raises(SystemExit, match="2"):
        run(["solve", problem, "--speed", "3"], MISSING)


def test_doctor_works(capsys):
    assert run(["doctor"], MISSING) == 0
    assert "\nkernel: " in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["-h"]])
def test_help_says_what_the_other_commands_need(words, capsys):
    with pytest.raises(SystemExit) if words else pytest.MonkeyPatch.context():
        assert run(words, MISSING) == 0
    assert ADVICE in " ".join(capsys.readouterr().out.split())


def test_help_is_that_of_the_full_command_line(call, capsys):
    with pytest.raises(SystemExit, match="0"):
        run(["solve", "-h"], MISSING)
    here, there = (set(text.split()) for text in (capsys.readouterr().out, call("solve", "-h").out))
    options = {word.strip(",") for word in there if word.startswith("--")}
    assert options == {word.strip(",[]") for word in here if word.startswith(("--", "[--"))}
    assert ["neuralfactors", "solve", "problem.uai.gz", "--time-limit", "60"][-1] in here


def test_the_tolerance_that_help_tells_is_that_of_inference(call):
    told = str(inspect.signature(inference.solve).parameters["tol"].default)
    assert inspect.signature(solve).parameters["tol"].default is None
    assert f"[default: ({float(told):.4f})]" in " ".join(call("solve", "-h").out.split())
