"""Findings: verdicts on the paper's claims, seed by seed."""

from dataclasses import replace

import pytest

from neuralfactors._report import read_results
from neuralfactors._report.findings import findings, gains, points, synergy, verdict
from neuralfactors._report.published import published
from neuralfactors._runs import Ablation, Accuracy, RunFolder


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ([[1.0, 2.0], [0.5, 0.1]], "holds"),
        ([[3.0, -1.0], [0.5, 0.1]], "holds on average"),
        ([[3.0, 1.0], [-0.5, -0.1]], "holds in part"),
        ([[-3.0, 1.0], [-0.5, -0.1]], "does not hold"),
        ([[], []], "not measured"),
    ],
)
def test_verdicts(measures, expected):
    assert verdict(measures) == expected


def test_gains_are_paired_by_seed():
    assert gains({0: 5.0, 1: 7.0, 2: 9.0}, {1: 4.0, 0: 4.0}) == [1.0, 3.0]
    assert points([[0.01, 0.03], [-0.01]]) == "+2.0 ± 1.4 / −1.0"


def finding(run, words):
    results = read_results(run)
    found = findings(results, published(results.run.settings.preset, "bow"))
    (one,) = [each for each in found if words in each.claim]
    return one


def test_every_claim_of_the_paper_is_decided(make_run):
    results = read_results(make_run())
    found = findings(results, published(None, "bow"))
    assert len({each.claim for each in found}) == len(found) == 9
    assert {each.verdict for each in found} <= {"holds", "holds in part", "does not hold"}
    assert {each.paper for each in found} == {"–"}  # the run is of no set of the paper


def test_claims_without_their_rows_are_not_measured(make_run):
    one = finding(make_run(rows=("int+nrl",)), "with neural interactions")
    assert (one.verdict, one.ours) == ("not measured", "–")


def test_differences_are_those_of_the_accuracies(make_run):
    run = make_run(rows=("SGD", "int+lin"), preset="msrc21")
    figures = {row.variant: row.metrics.read() for row in RunFolder(run).rows()}
    gain = [100 * (getattr(figures["int+lin"], key) - getattr(figures["SGD"], key)) for key in ("pixel", "class_mean")]
    one = finding(run, "int+lin against SGD")
    assert [float(part.replace("−", "-")) for part in one.ours.split(" / ")] == pytest.approx(gain, abs=0.051)
    assert one.paper == "+8.2 / +8.9"  # 67.4 against 59.2 of the pixels, in the paper's table


def test_synergy_is_the_gain_over_the_better_part(make_run):
    run = make_run(rows=("int+nrl",))
    row = RunFolder(run).row("int+nrl")
    metrics = row.metrics.read()
    parts = Ablation(Accuracy(0.5, 0.2), Accuracy(0.3, 0.4), Accuracy(0.6, 0.35))
    row.metrics.write(replace(metrics, ablation=parts))
    results = read_results(run)
    assert synergy(results, "int+nrl", "pixel") == pytest.approx([0.1])
    assert synergy(results, "int+nrl", "class_mean") == pytest.approx([-0.05])
    assert finding(run, "together beat the better kind").verdict == "holds in part"
    row.metrics.write(replace(metrics, ablation=None))
    assert finding(run, "together beat the better kind").verdict == "not measured"


def test_a_measure_that_is_missing_is_a_dash():
    assert points([[0.01], []]) == "+1.0 / –"
    assert points([[], []]) == "–"
    assert verdict([[0.01], []]) == "holds"
