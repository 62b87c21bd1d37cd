"""`neuralfactors solve` finds the best labelling of a problem in a file."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from neuralfactors._cli.solve import MEANINGS
from neuralfactors.inference import METHODS, read_uai, solve, write_uai
from neuralfactors.inference._result import STATUSES

UAI = "MARKOV 3  2 2 2  4  1 0  2 0 1  2 1 2  2 2 0   2 0.2 0.8" + "  4 3 1 1 3" * 3
WCSP = "costs 2 2 2 100\n2 2\n1 0 0 1\n0 7\n2 0 1 3 2\n0 0 1\n1 1 100\n"
FORBIDDEN = "MARKOV 1 2 1 1 0 2 0 0"
COMMAND = [sys.executable, "-m", "neuralfactors", "solve"]


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.uai"
    path.write_text(UAI)
    return path


def refused(result, sentence):
    assert (result.code, result.out, result.err) == (1, "", f"Error: {sentence}\n")


def test_the_answer_is_printed(call, problem):
    result = call("solve", problem)
    assert (result.code, result.err) == (0, "")
    lines = dict(line.split(":", 1) for line in result.out.splitlines())
    assert {name: text.strip() for name, text in lines.items() if name != "seconds"} == {
        "problem": "3 nodes, 3 edges, up to 2 labels",
        "status": "optimal: proved, no labelling scores more",
        "score": f"{np.log(0.8 * 27):.12g}",
        "bound": f"{np.log(0.8 * 27):.12g}",
        "gap": "0",
        "labels": "1 1 1",
    }
    assert float(lines["seconds"]) >= 0


def test_json_is_one_document(call, problem):
    result = call("solve", problem, "--json", "--method", "trws", "--max-iter", "5", "--seed", "3", "--tol", "1e-3")
    document = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    expected = solve(*read_uai(problem), method="trws", max_iter=5)
    assert document["score"] == expected.score
    assert document["labels"] == expected.labels.tolist()
    facts = {
        name: document[name] for name in ("file", "nodes", "edges", "factors", "labels_per_node", "method", "status")
    }
    assert facts == {
        "file": str(problem),
        "nodes": 3,
        "edges": 3,
        "factors": 0,
        "labels_per_node": 2,
        "method": "trws",
        "status": expected.status,
    }
    assert {"bound", "gap", "iterations", "seconds"} < set(document)


def test_the_name_tells_the_format(call, tmp_path):
    for name, text, score in (("a.uai.gz", UAI, np.log(0.8 * 27)), ("b.wcsp.gz", WCSP, -3.0), ("c.wcsp", WCSP, -3.0)):
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        assert json.loads(call("solve", tmp_path / name, "--json").out)["score"] == pytest.approx(score)


def test_larger_factors(call, tmp_path):
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(4, 2)), rng.normal(size=(1, 2, 2)), [[0, 1]], [((1, 2, 3), rng.normal(size=(2, 2, 2)))]
    write_uai(tmp_path / "large.uai.xz", *arrays)
    result = call("solve", tmp_path / "large.uai.xz", "--method", "exact")
    assert "4 nodes, 1 edge, 1 larger factor, up to 2 labels" in result.out
    best = solve(*arrays, method="exhaustive")
    assert f"labels:  {' '.join(map(str, best.labels))}\n" in result.out


def test_evidence(call, problem, tmp_path):
    (tmp_path / "problem.uai.evid").write_text("1 0 0")
    result = call("solve", problem, "--evidence", tmp_path / "problem.uai.evid", "--json")
    assert json.loads(result.out)["labels"] == [0, 0, 0]


def test_labels_are_written_as_a_uai_solution(call, problem, tmp_path):
    result = call("solve", problem, "--out", tmp_path / "problem.MPE")
    assert result.code == 0
    assert (tmp_path / "problem.MPE").read_text() == "MPE\n3 1 1 1\n"
    assert result.err == f"The labels are in {tmp_path / 'problem.MPE'}.\n"
    assert "labels:" not in result.out


def test_what_is_forbidden_has_no_labels(call, tmp_path):
    path = tmp_path / "forbidden.uai"
    path.write_text(FORBIDDEN)
    result = call("solve", path)
    assert result.code == 0
    assert "status:  infeasible: proved, every labelling is forbidden\n" in result.out
    assert "labels:" not in result.out
    document = json.loads(call("solve", path, "--json").out)
    assert (document["status"], document["score"], document["labels"]) == ("infeasible", None, None)
    out = tmp_path / "labels"
    refused(call("solve", path, "--out", out), f"{out} was not written: proved, every labelling is forbidden")
    assert not out.exists()


def test_errors_are_one_sentence(call, problem, tmp_path):
    other = tmp_path / "problem.txt"
    refused(call("solve", other), f"{other} must end with .uai or .wcsp, optionally followed by one of .gz, .xz, .bz2")
    refused(call("solve", tmp_path / "no.uai"), f"{tmp_path / 'no.uai'}: No such file or directory")
    refused(call("solve", problem, "--method", "magic"), f"method must be one of {', '.join(METHODS)}, got 'magic'")
    refused(call("solve", problem, "--tol", "-1"), "tol must be a finite number, at least 0, got -1.0")
    refused(
        call("solve", problem, "--out", problem),
        f"{problem} is an input file and would be overwritten: choose another --out",
    )
    refused(call("solve", problem, "--out", tmp_path), f"{tmp_path} is a folder, but --out must name a file")
    refused(call("solve", problem, "--out", tmp_path / "a/b"), f"{tmp_path / 'a'} is not a folder")
    (tmp_path / "costs.wcsp").write_text(WCSP)
    costs = tmp_path / "costs.wcsp"
    refused(
        call("solve", costs, "--evidence", problem), f"evidence applies only to UAI files, but {costs} is a WCSP file"
    )
    problem.write_text(UAI[:-9])
    refused(
        call("solve", problem),
        f"{problem}, line 1: the file ends too early: numbers are missing at the tables (expected 18, got 13)",
    )


def test_help_names_every_method_and_every_status_has_a_meaning(call):
    text = " ".join(call("solve", "--help").out.split())
    assert all(method in text for method in METHODS)
    assert set(MEANINGS) == set(STATUSES)


def test_nothing_large_is_imported(problem):
    code = (
        "import sys\nfrom neuralfactors._cli.commands import app\n"
        f"app(['solve', {str(problem)!r}], standalone_mode=False)\n"
        "print([name for name in ('torch', 'sklearn', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("options", "shown"), [((), True), (("--quiet",), False)])
def test_progress_is_shown_on_a_terminal_and_wiped_out(problem, options, shown):
    terminal, end = pty.openpty()
    process = subprocess.Popen([*COMMAND, str(problem), *options], stdout=subprocess.PIPE, stderr=end)
    out, _ = process.communicate(timeout=240)
    os.write(end, b"end")
    told = ""
    while not told.endswith("end"):  # a terminal may hand out what was written in pieces
        told += os.read(terminal, 10_000).decode()
    os.close(end)
    os.close(terminal)
    assert process.returncode == 0
    assert b"score:" in out
    assert bool(re.search(r"\r\d+\.\d s: score [-.\d]+, bound [-.\d]+\x1b\[K.*\r\x1b\[Kend", told)) == shown, told


def test_ctrl_c(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "long.uai"
    edges = [(i, j) for i in range(26) for j in range(i)]
    write_uai(path, rng.normal(size=(26, 2)), rng.normal(size=(len(edges), 2, 2)), edges)
    words = ["neuralfactors", "solve", str(path), "--method", "exhaustive"]
    code = f"""if True:
        import sys
        from neuralfactors import _cli, inference

        def solve(*problem, solve=inference.solve, **options):
            print("solving", flush=True)
            return solve(*problem, **options)

        inference.solve = solve
        sys.argv = {words}
        _cli.main()
    """
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "solving\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out, err) == (130, "", "Interrupted.\n")


@pytest.mark.realdata
def test_a_public_problem(call, data_dir):
    known = json.loads((data_dir / "uai" / "best.json").read_text())["scene/0000047"]
    document = json.loads(call("solve", data_dir / "uai" / "scene" / "0000047.uai.gz", "--json").out)
    assert document["status"] == "optimal"
    assert document["score"] == pytest.approx(known["best"], rel=1e-9)
