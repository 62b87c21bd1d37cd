"""Searches: what processes, folds and failures do to what is found."""

import json
from dataclasses import replace

import pytest

from neuralfactors._experiment import Means, tune
from neuralfactors._experiment.tuning.search import best_trial
from neuralfactors._runs import RunConfig, RunFolder, Search, Trial
from neuralfactors.datasets import write_scenes


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), 12, shape=(48, 64))


@pytest.fixture(scope="module")
def config(scenes):
    return RunConfig(str(scenes), ("unary",), features={"n_regions": 20}, parameters={"unary": {"max_iter": 3}})


def trials_in(path):
    """The trials of a search by number, without what two runs never share."""
    return {trial.number: replace(trial, seconds=0.0) for trial in RunFolder(path).trials.read()}


def test_processes_do_not_change_what_is_found(config, tmp_path):
    found = []
    for n_jobs in (1, 2):
        out = tmp_path / str(n_jobs)
        path = tune(config, Search(4), out, Means(tmp_path / "cache", n_jobs))
        found.append(
            (
                json.loads(path.read_text()),
                trials_in(out),
            )
        )
    assert found[0] == found[1]
    assert RunFolder(tmp_path / "1").run().finished


def test_a_dask_cluster_of_two_workers_finds_the_same(config, tmp_path, dask_cluster):
    found = [tune(config, Search(3), tmp_path / "here", Means(tmp_path / "cache")).read_text()]
    means = Means(tmp_path / "cache", dask=dask_cluster.scheduler_address)
    found.append(tune(config, Search(3), tmp_path / "there", means).read_text())
    assert found[0] == found[1]


def test_folds_need_no_validation_split(scenes, config, tmp_path):
    means = Means(tmp_path / "cache")
    tune(config, Search(2, ("C",), folds=2), tmp_path / "folds", means)
    trials = trials_in(tmp_path / "folds")
    assert [trial.error for trial in trials.values()] == [None, None]
    assert set(trials[1].parameters) == {"C"}
    assert RunFolder(tmp_path / "folds").run().splits == {"train": 7, "test": 0}


def test_trial_that_fails_is_told_and_does_not_end_the_search(config, tmp_path):
    spoilt = RunConfig(
        config.data, ("unary",), features=config.features, parameters={"unary": {"class_weight": [1.0, 2.0]}}
    )
    with pytest.raises(ValueError, match="every trial failed; the error of the first: class_weight"):
        tune(spoilt, Search(3, ("C",)), tmp_path / "run", Means(tmp_path / "cache"))
    trials = trials_in(tmp_path / "run")
    assert all("class_weight" in trial.error for trial in trials.values())
    made = [Trial(number, "coarse", {}, score) for number, score in enumerate((None, 0.3, 0.3))]
    assert best_trial(made).number == 1
