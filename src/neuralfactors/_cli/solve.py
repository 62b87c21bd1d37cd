"""The command that solves a MAP problem in a file: solve."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from neuralfactors._cli.parameters import Argument, Option
from neuralfactors._cli.terminal import echo, overwrite, progress, tell
from neuralfactors._cli.terminal_tables import counted, show_json

if TYPE_CHECKING:
    from neuralfactors.inference import MapProblem, Result

MEANINGS = {
    "optimal": "proved, no labelling scores more",
    "within_tol": "not proved, but score and bound are within the tolerance",
    "approximate": "a labelling, and a bound on the score of the best one",
    "infeasible": "proved, every labelling is forbidden",
    "unresolved": "no allowed labelling was found, nor a proof that there is none",
}
EXAMPLE = "neuralfactors solve problem.uai.gz --time-limit 60"
_PAUSE = 0.1  # seconds between two states of the progress line


def solve(
    file: Annotated[Path, Argument("A .uai or .wcsp file, or one with .gz, .xz or .bz2.", "FILE")],
    method: Annotated[
        str, Option("auto, alpha-expansion, trws, bp, icm, tree, maxflow, exact or exhaustive.", metavar="NAME")
    ] = "auto",
    time_limit: Annotated[
        float | None,
        Option("Stop after this time and return the best labelling found.", metavar="SECONDS", told_default="none"),
    ] = None,
    max_iter: Annotated[
        int | None, Option("Maximum number of iterations.", metavar="N", told_default="as many as the method needs")
    ] = None,
    evidence: Annotated[Path | None, Option("File of observed labels, for a .uai file.", metavar="FILE")] = None,
    tol: Annotated[
        float | None, Option("Relative gap at which to stop without a proof.", metavar="SHARE", told_default="0.0001")
    ] = None,
    seed: Annotated[int, Option("Random seed.", metavar="N")] = 0,
    out: Annotated[
        Path | None, Option("File to write the labels to, as a UAI solution.", ("--out", "-o"), metavar="FILE")
    ] = None,
    as_json: Annotated[bool, Option("Print the result as JSON.", ("--json",))] = False,
) -> None:
    """Find the best labelling of a problem in a UAI or WCSP file.

    Also prints a bound on the score of any labelling. Scores are logarithms of the product of UAI tables, or WCSP costs
    with the sign changed: higher is better.
    """
    from neuralfactors import inference

    _check_out(out, file, evidence)
    problem = _read(file, evidence)
    began = time.monotonic()
    with _progress_line() as callback:
        run = partial(inference.solve, method=method, random_state=seed, callback=callback)
        run = run if tol is None else partial(run, tol=tol)
        result = run(*problem, max_iter=max_iter, time_limit=time_limit)
    seconds = time.monotonic() - began
    if out is not None:
        _write_labels(out, result)
    if as_json:
        show_json(_document(file, problem, method, result, seconds))
    else:
        _show(problem, result, seconds, with_labels=out is None)
    if out is not None:
        tell(f"The labels are in {out}.")


def _check_out(out: Path | None, *inputs: Path | None) -> None:
    """Refuse an output that could not be written, before the work begins."""
    if out is None:
        return
    if not out.resolve().parent.is_dir():
        raise ValueError(f"{out.parent} is not a folder")
    if out.is_dir():
        raise ValueError(f"{out} is a folder, but --out must name a file")
    for path in inputs:
        if path is not None and path.resolve() == out.resolve():
            raise ValueError(f"{out} is an input file and would be overwritten: choose another --out")


def _read(file: Path, evidence: Path | None) -> MapProblem:
    """The problem in `file`, whose suffix tells the format."""
    from neuralfactors.inference import read_uai, read_wcsp
    from neuralfactors.inference._formats.compression import COMPRESSED

    suffix = Path(file.stem).suffix if file.suffix in COMPRESSED else file.suffix
    if suffix == ".uai":
        return read_uai(file, evidence)
    if suffix != ".wcsp":
        raise ValueError(f"{file} must end with .uai or .wcsp, optionally followed by one of {', '.join(COMPRESSED)}")
    if evidence is not None:
        raise ValueError(f"evidence applies only to UAI files, but {file} is a WCSP file")
    return read_wcsp(file)


@contextmanager
def _progress_line() -> Iterator[Callable[[float, float, float], None] | None]:
    """A function that shows score and bound on one line of the terminal, or None if nobody would see it."""
    if not (progress() and sys.stderr.isatty()):
        yield None
        return
    shown = -math.inf

    def show(seconds: float, score: float, bound: float) -> None:
        nonlocal shown
        if seconds >= shown + _PAUSE:
            shown = seconds
            overwrite(f"{seconds:.1f} s: score {score:.8g}, bound {bound:.8g}")

    try:
        yield show
    finally:
        overwrite()


def _write_labels(out: Path, result: Result) -> None:
    """Write the labels as solvers in the UAI competitions do: the task, then the number of nodes and their labels."""
    from neuralfactors._common.files import write_atomically

    if result.score == -math.inf:
        raise ValueError(f"{out} was not written: {MEANINGS[result.status]}")
    words = [len(result.labels), *result.labels.tolist()]
    write_atomically(out, f"MPE\n{' '.join(map(str, words))}\n".encode())


def _document(file: Path, problem: MapProblem, method: str, result: Result, seconds: float) -> dict[str, object]:
    """What `--json` says of a result."""
    allowed = result.score > -math.inf
    return {
        "file": str(file),
        "nodes": len(problem.unary),
        "edges": len(problem.edges),
        "factors": len(problem.factors),
        "labels_per_node": max(map(len, problem.unary)),
        "method": method,
        "status": result.status,
        "score": _finite(result.score),
        "bound": _finite(result.bound),
        "gap": _finite(result.gap),
        "iterations": result.iterations,
        "seconds": seconds,
        "labels": result.labels.tolist() if allowed else None,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no infinity


def _show(problem: MapProblem, result: Result, seconds: float, *, with_labels: bool) -> None:
    """Print a result, and what its status means."""
    parts = [counted(len(problem.unary), "node"), counted(len(problem.edges), "edge")]
    if problem.factors:
        parts.append(counted(len(problem.factors), "larger factor"))
    facts = {
        "problem": ", ".join([*parts, f"up to {counted(max(map(len, problem.unary)), 'label')}"]),
        "status": f"{result.status.replace('_', ' ')}: {MEANINGS[result.status]}",
        "score": f"{result.score:.12g}",
        "bound": f"{result.bound:.12g}",
        "gap": f"{result.gap:.6g}",
        "seconds": f"{seconds:.2f}",
    }
    if with_labels and result.score > -math.inf:
        facts["labels"] = " ".join(map(str, result.labels.tolist()))
    for name, value in facts.items():
        echo(f"{name + ':':<9}{value}")
