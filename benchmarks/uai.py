"""Public inference problems in UAI files: score, bound and proofs after 0.01, 0.1, 1 and 10 seconds, method by method.

`--record FILE` writes what docs/inference.py makes its page from; `--update` adds better scores to best_uai.json.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import harness
import numpy as np
from best_uai import BestScores
from harness import Report
from instances import REPOSITORY
from uai_runs import WATCHED, End, Point, compact, curve_times, run_for_each, run_once, run_toulbar2, table_times, watch
from uai_targets import PATIENCE, Trial, check_gaps, check_proofs, check_references, check_rivals, report_family

from neuralfactors.inference import MapProblem, read_uai

RIVALS = ("trws", "bp", "alpha-expansion", "icm")
PACKAGES = ("neuralfactors", "numpy", "pytoulbar2")


def data_folder() -> Path | None:
    """Folder of the problems below NEURALFACTORS_DATA (default ../shared/data), if there is one."""
    folder = Path(os.environ.get("NEURALFACTORS_DATA", REPOSITORY.parent / "shared" / "data")) / "uai"
    return folder if any(folder.glob("*/*.uai*")) else None


def problem_files(folder: Path, quick: bool) -> list[Path]:
    """The files of all families; a quick run takes the smallest of each."""
    files = sorted(path for path in folder.glob("*/*") if ".uai" in path.suffixes)
    if not quick:
        return files
    families = sorted({path.parent for path in files})
    return [min((f for f in files if f.parent == family), key=lambda f: f.stat().st_size) for family in families]


def digest(problem: MapProblem) -> str:
    """Hash of the content, whatever its name."""
    state = hashlib.sha256()
    for array in (*problem.unary, *problem.interaction, problem.edges, *(part for f in problem.factors for part in f)):
        state.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def warm_up() -> None:
    """First calls pay for imports."""
    tiny = MapProblem(np.eye(3), np.ones((3, 3, 3)), np.array([[0, 1], [1, 2], [2, 0]]), [])
    for method in (*WATCHED, *RIVALS, "exact"):
        run_once(tiny, method, 0.01)


def run_problem(path: Path, problem: MapProblem, trial: Trial, longest: float, offer: Callable[..., bool]) -> None:
    """All methods on one problem; `offer(labels, by, proved)` gets what they found."""

    def keep(method: str, points: list[Point], end: End) -> None:
        trial.curves[method] = points
        if end.labels is not None:
            offer(end.labels, f"{method}, {longest:g} s", end.proved)

    run_default(problem, trial)
    for method in WATCHED:
        if not problem.factors:
            keep(method, *watch(problem, method, curve_times(longest)))
        elif method != "alpha-expansion":  # which is for edges only
            keep(method, *run_for_each(partial(run_end, problem, method), table_times(longest)))
    if trial.reference is not None and longest >= 1 and not trial.reaches_reference(longest):
        trial.patient = run_once(problem, "auto", PATIENCE)[0]
        offer(trial.patient.labels, f"auto, {PATIENCE:g} s", trial.patient.proved)
    if importlib.util.find_spec("pytoulbar2") is None:
        return
    keep("exact", *run_for_each(partial(run_end, problem, "exact"), table_times(longest)))
    whole = [time for time in table_times(longest) if time >= 1 and time == round(time)]
    if whole:
        keep("toulbar2", *run_for_each(partial(run_toulbar2, path), whole))


def run_end(problem: MapProblem, method: str, limit: float) -> End:
    return run_once(problem, method, limit)[0]


def run_default(problem: MapProblem, trial: Trial) -> None:
    """`auto` as it is called without options, and what the others know when it is done: the median of three times."""
    runs = [run_once(problem, "auto")[0] for _ in range(3)]
    seconds = statistics.median(run.seconds for run in runs)
    trial.default = End(runs[0].score, runs[0].bound, runs[0].proved, seconds, runs[0].labels)
    for method in RIVALS:
        if problem.factors and method == "alpha-expansion":
            continue
        end, trace = run_once(problem, method, seconds)
        known = end.point(seconds) if problem.factors else trace.at(seconds, math.inf, end)
        trial.rivals[method] = known


def machine() -> str:
    """The processor, as the system names it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def revision() -> str:
    """The commit of this repository, to which the installed package should belong."""
    command = ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write_record(path: Path, trials: Sequence[Trial], best: BestScores, longest: float, report: Report) -> None:
    """All that was measured, as JSON."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES if importlib.util.find_spec(name)}
    problems = {
        trial.name: {
            **dict(zip(("nodes", "edges", "labels"), trial.size, strict=True)),
            "best": best.entries[trial.name],
            "reference": trial.reference,
            "default": None if trial.default is None else trial.default.point(trial.default.seconds).as_list(),
            "rivals": {method: point.as_list() for method, point in trial.rivals.items()},
            "curves": {
                method: [point.as_list() for point in compact(points)] for method, points in trial.curves.items()
            },
        }
        for trial in trials
    }
    about = {
        "machine": machine(),
        "load": round(statistics.mean(trial.load for trial in trials), 1),
        "versions": {"Python": platform.python_version(), **versions},
        "commit": revision(),
        "seconds": longest,
        "times": table_times(longest),
        "targets": [row.as_dict() | {"at_least": row.at_least} for row in report.rows if row.target is not None],
        "notes": report.notes,
    }
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(problem)}" for name, problem in problems.items())
    text = json.dumps(about, indent=1, ensure_ascii=False).removesuffix("\n}")
    path.write_text(f'{text},\n "problems": {{\n{lines}\n }}\n}}\n', encoding="utf-8")


def measure(report: Report, quick: bool, seconds: float, update: bool, record: Path | None) -> None:
    """All problems, then the tables of the families and the targets."""
    folder = data_folder()
    if folder is None:
        report.note("Skipped: no folder uai with problems below NEURALFACTORS_DATA (default ../shared/data).")
        return
    if importlib.util.find_spec("pytoulbar2") is None:
        report.note("pytoulbar2 is not installed (neuralfactors[exact]): no rows of exact and toulbar2.")
    longest = 0.1 if quick else seconds
    known = json.loads((folder / "best.json").read_text()) if (folder / "best.json").is_file() else {}
    best, trials = BestScores(), []
    seen: dict[str, str] = {}
    files = problem_files(folder, quick)
    warm_up()
    for path in files:
        name = f"{path.parent.name}/{path.name.partition('.uai')[0]}"
        problem = read_uai(path)
        if name in known:
            best.take_from_data(name, known[name])
        twin = seen.setdefault(digest(problem), name)
        if twin != name:
            report.note(f"{name} is the same problem as {twin}.")
        size = (len(problem.unary), len(problem.edges), max(map(len, problem.unary)))
        trial = Trial(name, size, known.get(name, {}).get("reference"))
        run_problem(path, problem, trial, longest, partial(best.offer, name, problem))
        report.progress.print(f"{name}: {trial.at('auto', longest)}", style="dim", highlight=False)
        trial.load = os.getloadavg()[0]
        trials.append(trial)
    for family in sorted({trial.family for trial in trials}):
        members = [trial for trial in trials if trial.family == family]
        report_family(report, family, members, best, longest)
    check_rivals(report, trials)
    check_proofs(report, trials, longest)
    check_gaps(report, trials, best, longest)
    check_references(report, trials, longest)
    report.at_most("all methods", "proofs contradicted", len(best.contradictions), 0)
    for text in best.contradictions:
        report.note(text)
    if update:
        best.save()
    if record is not None:
        write_record(record, trials, best, longest, report)


if __name__ == "__main__":
    harness.main(
        "UAI problems",
        measure,
        {
            "seconds": {"type": float, "default": 10.0, "help": "the longest time a method has for a problem"},
            "update": {"action": "store_true", "help": "add better scores to best_uai.json"},
            "record": {"type": Path, "metavar": "FILE", "help": "also write all measurements to FILE"},
        },
    )
