"""An experiment on claims, on scenes: its figures, and that nothing is done twice."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from work import counting

from neuralfactors._experiment import Means
from neuralfactors._experiment.claims import study
from neuralfactors._experiment.claims.bootstrap import paired
from neuralfactors._experiment.claims.study import Chosen, Study, settle_claims
from neuralfactors._experiment.claims.training import RATES, Bench
from neuralfactors._experiment.tuning.space import FINE
from neuralfactors._runs import RunConfig, Splits
from neuralfactors._runs.claims import claims_document
from neuralfactors._runs.documents import Document


def study_of(scenes, **changes):
    parameters = {"*": {"max_iter": 3, "first__max_iter": 3, "trainer__pretrain": 1}}
    config = RunConfig(
        str(scenes), ("int+nrl", "bif+nrl"), "compare", {"n_regions": 15}, parameters, splits=Splits(test="test")
    )
    usual = {"claims": ("integrated-linear", "dagger"), "regressions": ("full",), "seeds": (0, 1), "n_trials": 2}
    return Study(config, config, **{**usual, **changes})


@pytest.fixture(scope="module")
def settled(scenes, tmp_path_factory):
    out = tmp_path_factory.mktemp("claims")
    settle_claims(study_of(scenes), out, Means(n_jobs=1), "neuralfactors claims scenes")
    return out


def test_figures_are_those_of_the_counts(settled):
    report = claims_document(settled).read()
    assert [claim.claim for claim in report.claims] == ["integrated-linear", "dagger"]
    assert (report.seeds, report.n_trials, report.command) == ((0, 1), 2, "neuralfactors claims scenes")
    assert report.n_images == 4
    better, worse = (
        np.stack([np.load(settled / "counts" / f"{name}-full-{seed}.npy")[2] for seed in (0, 1)]).astype(float)
        for name in ("int-lin-dagger", "bif-lin")
    )
    claim = report.claims[1]
    for measure, found in claim.difference.items():
        assert found == paired(better, worse, measure)
        sides = claim.better.parts["joint"][measure] - claim.worse.parts["joint"][measure]
        assert found.value == pytest.approx(sides)
    assert claim.synergy == {}
    assert set(report.claims[0].synergy) == {"interaction", "part"}


def test_trials_before_an_interruption_are_not_made_again(scenes, settled, tmp_path):
    again = shutil.copytree(settled, tmp_path / "again")
    kept = Document(Chosen, again / "rates" / "int-lin-dagger-full.json")
    before = kept.read()
    kept.write(replace(before, scores=before.scores[:1]))
    with counting(fits=(Bench, "fit")) as done:
        settle_claims(study_of(scenes), again, Means(n_jobs=1))
    assert done == {"fits": 1}  # the second trial
    assert kept.read() == before


def test_fine_trials_lie_about_the_best_coarse_one_even_where_a_fine_one_is_better(scenes, tmp_path, monkeypatch):
    tried = []
    monkeypatch.setattr(study, "_score", lambda _bench, _recipe, rates, _start: tried.append(rates) or len(tried) / 100)
    running = study._Running(study_of(scenes, n_trials=9), tmp_path, Means(n_jobs=1))  # of which six are coarse
    running.choose("int-lin-dagger", "full")
    steps = np.log10([[rates[name] for name in RATES] for rates in tried])
    away = np.abs(steps[6:] - steps[5]) / (2 * study.DECADES)  # in lengths of the ranges
    assert away.max() < 4 * FINE


def test_nothing_is_done_twice_and_more_seeds_can_be_asked(scenes, settled):
    before = claims_document(settled).path.read_bytes()
    with counting(fits=(Bench, "fit")) as done:
        settle_claims(study_of(scenes), settled, Means(n_jobs=1), "neuralfactors claims scenes")
    assert done == {"fits": 0}
    assert claims_document(settled).path.read_bytes() == before
    with counting(fits=(Bench, "fit")) as done:
        settle_claims(study_of(scenes, claims=("dagger",), seeds=(0, 1, 2)), settled, Means(n_jobs=1))
    assert done == {"fits": 2}
    assert json.loads(before)["seeds"] == [0, 1]
    assert claims_document(settled).read().seeds == (0, 1, 2)


def test_other_settings_in_the_same_folder_are_refused(scenes, settled):
    with pytest.raises(ValueError, match="other settings"):
        settle_claims(study_of(scenes, n_trials=3), settled, Means(n_jobs=1))


def test_wrong_studies_are_refused(scenes):
    with pytest.raises(ValueError, match="claims must be some of"):
        study_of(scenes, claims=("speed",))
    with pytest.raises(ValueError, match="there must be a seed and a trial"):
        study_of(scenes, seeds=())
