"""Sides of a claim, trained on scenes: what they share, and what they do not."""

import pytest
import torch

from neuralfactors._experiment import Means
from neuralfactors._experiment.claims.training import Bench
from neuralfactors._experiment.data import open_data, prepare
from neuralfactors._runs import RunConfig, RunFolder, Splits


@pytest.fixture(scope="module")
def bench(scenes, tmp_path_factory):
    parameters = {"*": {"max_iter": 2, "first__max_iter": 5, "C": 30.0}}
    config = RunConfig(
        str(scenes), ("int+nrl", "bif+nrl"), "compare", {"n_regions": 20}, parameters, splits=Splits(test="test")
    )
    prepared = prepare(config, open_data(config), RunFolder(tmp_path_factory.mktemp("run")), Means(n_jobs=1))
    return Bench(config, prepared, "full")


def test_a_solution_is_trained_on_frozen_or_free(bench):
    rates = bench.rates("bif-lin")
    start = bench.fit("bif-lin", rates)
    frozen, free = (bench.fit(recipe, rates, start) for recipe in ("bif-lin-on", "int-lin-on"))
    first, kept, moved = (model.model_.unary.regression.weight for model in (start, frozen, free))
    assert torch.equal(first, kept)
    assert not torch.equal(first, moved)
    for model in (frozen, free):
        assert not torch.equal(model.model_.unary.factor.weight, start.model_.unary.factor.weight)
        assert model.C == start.C == 30.0
        assert len(model.history_) == 2


def test_all_sides_share_their_settings(bench):
    models = [bench.fit(recipe, bench.rates(recipe)) for recipe in ("int-nrl", "int-lin", "int-lin-dagger", "bif-nrl")]
    for name in ("C", "interaction_C", "max_iter", "batch_size", "void", "random_state"):
        assert len({getattr(model, name) for model in models}) == 1
    assert [model.model_.interaction.weight.shape[1] for model in models] == [512, 32, 32, 512]
    assert [len(models[k].model_.unary.weight[0]) for k in (0, 2)] == [256, 7]


def test_a_weak_regression_is_weak(bench):
    weak = Bench(bench.config, bench.prepared, "weak")
    scores = {}
    for each in (bench, weak):
        model = each.fit("bif-lin", each.rates("bif-lin"))
        scores[each.regression] = float(model.model_.unary.regression.weight.norm())
    assert scores["weak"] < scores["full"]
    assert weak.shared()["trainer__pretrain"] == 0 < bench.shared()["trainer__pretrain"]


def test_what_trains_on_begins_with_smaller_rates(bench):
    begun, on = bench.rates("bif-nrl"), bench.rates("int-nrl-on")
    assert on == {name: pytest.approx(0.1 * rate) for name, rate in begun.items()} == bench.rates("bif-nrl-on")


def test_counts_have_every_labelled_pixel(bench):
    model, graphs = bench.fit("int-lin-dagger", bench.rates("int-lin-dagger")), bench.prepared.test
    counts = bench.confusions(model, graphs)
    assert counts.shape == (3, len(graphs.X), 7, 7)
    for part in counts:
        assert part.sum(axis=(1, 2)).tolist() == [int(truth.n_pixels.sum()) for truth in graphs.truth]
    joint = bench.segmenter(model).score_graphs(graphs)
    assert (counts[2].sum(axis=0) == joint.confusion).all()
