"""The parts of benchmarks/ that decide something: what a run knew when, which scores are on record, the options."""

import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from neuralfactors.inference import MapProblem

FOLDER = Path(__file__).parents[1] / "benchmarks"
EDGES = np.array([[0, 1], [1, 2], [2, 0]])


@pytest.fixture
def load(monkeypatch):
    """Imports a module of benchmarks/, whose files import each other by their bare names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(FOLDER)):
            del sys.modules[name]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_every_benchmark_finds_what_it_imports(load, name):
    try:
        load(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("neuralfactors"):
            raise
        pytest.skip(f"{error.name} is not installed")


def test_losses_compared_with_pytorch_crf_start_from_the_same_scores(load):
    pytest.importorskip("torchcrf", reason="pytorch-crf is not installed")
    for step in load("torch_losses").rivals(3).values():
        step()


def test_chunks_begin_at_b_and_where_the_kind_changes(load):
    pytest.importorskip("torchcrf", reason="pytorch-crf is not installed")
    chunking = load("chunking")
    true = [["b-np", "i-np", "b-np", "o", "i-vp", "i-np"], ["o"]]
    assert chunking.chunks(true) == {(0, 0, 2, "np"), (0, 2, 3, "np"), (0, 4, 5, "vp"), (0, 5, 6, "np")}
    assert chunking.f1([["b-np", "i-np", "i-np", "o", "b-vp", "o"], ["o"]], true) == pytest.approx(2 / 6)


@pytest.fixture
def problem():
    unary = np.array([[0.0, 1.0], [0.5, 0.0], [2.0, -np.inf]])
    factor = np.array([0, 1, 2]), np.arange(8.0).reshape(2, 2, 2)
    return MapProblem(unary, np.stack([0.25 * np.eye(2)] * 3), EDGES, [factor])


@pytest.fixture
def easy(problem):
    return problem._replace(factors=[])


@pytest.fixture
def make_trace(load):
    runs = load("uai_runs")

    def make():
        ticks = iter([100.0, 100.5, 102.0])  # of the start and of two calls
        trace = runs.Trace(clock=lambda: next(ticks))
        trace(0.1, 3.0, 9.0)
        trace(0.2, 4.0, 8.0)
        return trace

    return make


def end(load, seconds, proved=False, score=5.0):
    return load("uai_runs").End(score, 6.0, proved, seconds, None)


@pytest.mark.parametrize(
    ("given", "score", "bound"), [(0.4, -math.inf, math.inf), (0.5, 3.0, 9.0), (1.9, 3.0, 9.0), (2.5, 4.0, 8.0)]
)
def test_trace_tells_what_was_known_by_the_clock_of_the_caller(load, make_trace, given, score, bound):
    point = make_trace().at(given, 3.0, end(load, 3.01, proved=True))
    assert (point.score, point.bound, point.proved) == (score, bound, False)


def test_a_run_that_ended_holds_its_result_and_its_proof(load, make_trace):
    point = make_trace().at(2.7, 10.0, end(load, 2.6, proved=True))
    assert (point.score, point.bound, point.proved, point.seconds) == (5.0, 6.0, True, 2.6)


def test_a_step_that_overran_the_limit_counts_at_the_limit_with_its_time(load, make_trace):
    point = make_trace().at(3.0, 3.0, end(load, 3.4))
    assert (point.score, point.seconds) == (5.0, 3.4)


def test_infinite_values_are_null_in_json(load):
    point = load("uai_runs").Point(0.01, -math.inf, math.inf, False, 0.01)
    assert json.dumps(point.as_list()) == "[0.01, null, null, false, 0.01]"


@pytest.mark.parametrize(
    ("took", "proved", "runs"),
    [
        ({0.1: 0.3, 1: 1.2, 10: 10.1}, (), [0.1, 1, 10]),  # always cut short
        ({0.1: 0.3, 1: 0.7}, (), [0.1, 1]),  # ended by itself
        ({0.1: 0.3}, (0.1,), [0.1]),  # proved, if late
    ],
)
def test_runs_for_each_limit_end_with_the_first_that_ends_by_itself(load, took, proved, runs):
    called = []

    def run(limit):
        called.append(limit)
        return end(load, took[limit], limit in proved, score=limit)

    points, last = load("uai_runs").run_for_each(run, [10, 1, 0.1])
    assert called == runs
    assert [point.time for point in points] == [0.1, 1, 10]
    assert points[-1].score == last.score == runs[-1]


def test_watching_ends_where_solving_does(load, easy):
    points, last = load("uai_runs").watch(easy, "auto", [1e-9, 1.0])
    assert not points[0].proved
    assert points[1].proved
    assert points[1].score == pytest.approx(load("uai_runs").score_of(easy, last.labels))


def test_score_counts_nodes_edges_and_factors(load, problem):
    labels = np.array([1, 0, 0])
    assert load("uai_runs").score_of(problem, labels) == 1.0 + 0.5 + 2.0 + 0.25 + 4.0
    assert load("uai_runs").score_of(problem, np.array([1, 0, 1])) == -math.inf


def test_toulbar2_in_its_own_process(load, problem, tmp_path):
    pytest.importorskip("pytoulbar2")
    path = tmp_path / "cube.uai"
    path.write_text("MARKOV 3 2 2 2 2 3 0 1 2 2 0 1 8 1 2 3 4 5 6 7 8 4 1 2 3 1")
    found = load("uai_runs").run_toulbar2(path, 1)
    assert found.proved
    assert found.labels.tolist() == [1, 0, 1]
    assert found.score == pytest.approx(math.log(18))


@pytest.fixture
def make_best(load, tmp_path):
    def make(**entry):
        path = tmp_path / "best.json"
        path.write_text(json.dumps({"toy/a": {"score": 3.0, "by": "exact", "proved": False} | entry}))
        return load("best_uai").BestScores(path)

    return make


GOOD = np.array([1, 0, 0])  # 3.75 without the factor


def test_a_strictly_better_labelling_replaces_the_entry(make_best, easy):
    best = make_best()
    assert best.offer("toy/a", easy, GOOD, "auto, 10 s", False)
    best.save()
    assert json.loads(best.path.read_text()) == {"toy/a": {"score": 3.75, "by": "auto, 10 s", "proved": False}}


@pytest.mark.parametrize("known", [3.75, 3.75 - 1e-12, 4.0])
def test_what_is_equal_but_for_rounding_or_worse_does_not(make_best, easy, known):
    best = make_best(score=known)
    assert not best.offer("toy/a", easy, GOOD, "auto, 10 s", False)
    assert best.entries["toy/a"] == {"score": known, "by": "exact", "proved": False}


def test_a_proof_of_the_score_on_record_is_noted(make_best, easy):
    best = make_best(score=3.75)
    assert not best.offer("toy/a", easy, GOOD, "auto, 10 s", True)
    assert best.entries["toy/a"] == {"score": 3.75, "by": "exact", "proved": True}


@pytest.mark.parametrize(("entry", "proved"), [({"score": 3.0, "proved": True}, False), ({"score": 4.0}, True)])
def test_contradicted_proofs_are_told_and_change_nothing(make_best, easy, entry, proved):
    best = make_best(**entry)
    before = dict(best.entries["toy/a"])
    assert not best.offer("toy/a", easy, GOOD, "auto, 10 s", proved)
    assert len(best.contradictions) == 1
    assert best.entries["toy/a"] == before


def test_forbidden_labellings_are_never_best(make_best, easy):
    best = make_best()
    assert not best.offer("toy/b", easy, np.array([0, 0, 1]), "auto", False)
    assert "toy/b" not in best.entries


def test_the_record_begins_with_what_came_with_the_data(make_best):
    best = make_best()
    came = {"best": 9.0, "by": "reference", "proved": False, "reference": 9.0}
    for name in ("toy/a", "toy/b"):
        best.take_from_data(name, came)
    assert best.score("toy/a") == 3.0
    assert best.entries["toy/b"] == {"score": 9.0, "by": "reference of the set", "proved": False}


def test_gaps_are_per_cent_of_the_best_score(load):
    targets = load("uai_targets")
    point = load("uai_runs").Point(1.0, -4.5, -3.0, False, 1.0)
    assert targets.gap(point, -4.0) == 12.5
    assert targets.bound_gap(point, -4.0) == 25.0
    assert targets.gap(point, -4.5 - 1e-13) == 0.0
    assert targets.gap(point, 0.0) == 450.0  # in per cent of 1


def test_the_reference_may_take_thirty_seconds(load):
    targets, runs = load("uai_targets"), load("uai_runs")
    trial = targets.Trial("toy/a", (3, 3, 2), 5.0, {"auto": [runs.Point(10.0, 4.0, 6.0, False, 10.0)]})
    assert not trial.reaches_reference(10.0)
    trial.patient = runs.End(5.0, 6.0, False, 30.0, None)
    assert trial.reaches_reference(10.0)


def test_times_of_curves_include_those_of_tables(load):
    runs = load("uai_runs")
    assert runs.table_times(3.0) == [0.01, 0.1, 1.0, 3.0]
    assert set(runs.table_times(10.0)) < set(runs.curve_times(10.0))


def test_the_benchmark_runs_on_problems_of_any_order_and_skips_without_data(load, monkeypatch, tmp_path):
    family = tmp_path / "uai" / "toy"
    family.mkdir(parents=True)
    monkeypatch.setenv("NEURALFACTORS_DATA", str(tmp_path))
    uai, harness = load("uai"), load("harness")
    report = harness.Report("test")
    uai.measure(report, True, seconds=10.0, update=False, record=None)
    assert not report.rows
    assert report.notes[0].startswith("Skipped")
    (family / "cube.uai").write_text("MARKOV 3 2 2 2 2 3 0 1 2 2 0 1 8 1 2 3 4 5 6 7 8 4 1 2 3 1")
    report = harness.Report("test")
    uai.measure(report, True, seconds=10.0, update=False, record=tmp_path / "record.json")
    assert all(row.holds for row in report.rows)
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["problems"]["toy/cube"]["best"]["proved"]
    assert {"auto", "trws"} <= set(record["problems"]["toy/cube"]["curves"])


def test_options_of_a_benchmark_reach_it(load, monkeypatch):
    got = []
    monkeypatch.setattr(sys, "argv", ["bench", "--seconds", "3"])
    load("harness").main("title", lambda *_, **options: got.append(options), {"seconds": {"type": float}})
    assert got == [{"seconds": 3.0}]


def test_scores_on_record_have_finders(load):
    path = load("best_uai").RECORD
    for name, entry in json.loads(path.read_text()).items():
        assert name.count("/") == 1
        assert set(entry) == {"score", "by", "proved"}
        assert math.isfinite(entry["score"])


def test_compact_curves_keep_every_change(load):
    runs = load("uai_runs")
    rows = [
        (0.01, 3.0, False, 0.01),
        (0.1, 3.0, False, 0.1),  # nothing new
        (1.0, 4.0, False, 1.0),
        (3.0, 4.0, True, 2.0),
        (5.0, 4.0, True, 2.0),  # held
    ]
    points = [runs.Point(time, score, 9.0, proved, seconds) for time, score, proved, seconds in rows]
    assert [point.time for point in runs.compact(points)] == [0.01, 1.0, 3.0]
    cut_short = [runs.Point(time, 3.0, 9.0, False, time + 0.2) for time in (0.01, 0.1)]
    assert runs.compact(cut_short) == cut_short


def test_a_part_beats_auto_by_what_it_knows_in_the_same_time(load):
    end = load("uai_runs").End(-4.0, 1.0, False, 0.1, None)
    point = load("uai_runs").Point(0.1, -3.0, 0.5, False, 0.1)
    assert load("parts").gains(end, point) == {"score": 0.25, "bound": 0.125}
    assert load("parts").gains(point, end) == {"score": 0.0, "bound": 0.0}
