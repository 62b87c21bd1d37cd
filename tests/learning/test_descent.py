"""The descent: its objective against enumeration, what it keeps, when it stops, and that an epoch is only its own."""

import copy

import numpy as np
import pytest
import torch
from oracles import graphs_of, hinge

from neuralfactors import FactorModel, GraphBatch, Network
from neuralfactors.datasets import make_chains
from neuralfactors.learning import Decoder, Subgradient
from neuralfactors.learning._checkpoints import restore_training, training_state
from neuralfactors.learning._descent import Descent, training
from neuralfactors.learning._subgradient import TrainingSettings
from neuralfactors.learning._training_graphs import Samples

C = 10.0


@pytest.fixture(scope="module")
def samples():
    return Samples.check(*make_chains(8, 4, 3, noise=0.7))


def make_descent(
    samples, *, hidden=(), max_iter=5, batch_size=None, loss="hinge", C=(C, C), seed=0, dropout=0.0, **trainer
):
    """A descent in float64 with a model whose first parameters are always the same."""
    generator = torch.Generator().manual_seed(0)
    network = Network(hidden, dropout=dropout)
    unary = network.build(samples.n_node_features, 3, 1, generator)
    interaction = network.build(samples.n_edge_features, 3, 2, generator)
    model = FactorModel(unary, interaction, 3).double().eval()
    chosen = Subgradient(**{"learning_rate": 0.05, "dtype": "float64", **trainer})
    settings = TrainingSettings(chosen, C, max_iter, batch_size, loss, "drop", (len(hidden),) * 2, seed)
    return Descent(model, settings, Decoder("exhaustive"))


def objective(descent, samples):
    """½‖w‖² + C/N Σ hinge of the model as it stands, by enumeration."""
    batch, y = samples.batch(range(len(samples)), torch.float64)
    with torch.no_grad():
        potentials = descent.model(batch)
    hinges = [
        float(hinge(unary, interaction, edges, y[nodes], torch.ones(len(unary))))
        for unary, interaction, edges, nodes in graphs_of(potentials)
    ]
    squares = sum(float(p.detach().square().sum()) for p in descent.model.parameters())
    return 0.5 * squares + C * np.mean(hinges)


def values(descent):
    return torch.cat([p.detach().flatten() for p in descent.model.parameters()])


def test_the_objective_is_that_of_the_parameters_at_the_start_of_a_whole_pass(samples):
    descent = make_descent(samples)
    for _ in range(3):
        expected = objective(descent, samples)
        assert descent.run_epoch(samples)["objective"] == pytest.approx(expected)


def test_the_iterate_of_the_least_objective_is_kept(samples):
    descent = make_descent(samples, learning_rate=0.5, max_iter=12, schedule="constant")
    reached = []
    while descent.epoch < 12:
        descent.run_epoch(samples)
        reached.append(objective(descent, samples))
    other = make_descent(samples, learning_rate=0.5, max_iter=12, schedule="constant")
    other.run(samples)
    assert objective(other, samples) == pytest.approx(min(reached)) == other.progress.best
    assert 1 <= other.progress.best_epoch <= 12


def test_with_a_rate_for_each_factor_the_regulariser_weighs_both(samples):
    descent = make_descent(samples, C=(C, 5 * C))
    descent.run_epoch(samples)
    unary, interaction = (
        sum(float(p.detach().square().sum()) for p in part.parameters())
        for part in (descent.model.unary, descent.model.interaction)
    )
    assert descent.regulariser() == pytest.approx(0.5 * unary + 0.5 * interaction / 5)
    assert make_descent(samples, loss="perceptron").regulariser() == 0.0


@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 3}, {"averaging": "linear"}, {"keep": "last"}, {"dropout": 0.5}]
)
def test_epochs_may_be_run_one_by_one_in_other_processes(samples, options):
    """A state that was put into another descent goes on as if nothing had happened."""
    options = {"hidden": (4,), **options}
    whole = make_descent(samples, **options)
    whole.run(samples)
    cut = make_descent(samples, **options)
    for _ in range(2):
        cut.run_epoch(samples)
    document, tensors = training_state(cut)
    torch.manual_seed(99)
    resumed = make_descent(samples, **options)
    restore_training(resumed, document, tensors)
    resumed.run(samples)
    assert torch.equal(values(resumed), values(whole))
    without = [[{k: v for k, v in r.items() if k != "seconds"} for r in d.progress.history] for d in (resumed, whole)]
    assert without[0] == without[1]


def test_an_epoch_leaves_the_global_generator_alone(samples):
    descent = make_descent(samples, hidden=(4,), dropout=0.5, batch_size=2)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    descent.run_epoch(samples)
    assert torch.equal(torch.get_rng_state(), before)


def test_batches_go_by_seed_and_epoch_and_cover_every_graph(samples):
    seen = []

    class Spying(Descent):
        def differentiate(self, samples, indices, totals, clock):
            seen.append(list(indices))
            super().differentiate(samples, indices, totals, clock)

    plain = make_descent(samples, batch_size=3)
    for seed in (0, 0, 1):
        spy = Spying(copy.deepcopy(plain.model), make_descent(samples, batch_size=3, seed=seed).settings, plain.decoder)
        for _ in range(2):
            spy.run_epoch(samples)
    passes = [seen[k : k + 3] for k in range(0, len(seen), 3)]
    assert all(sorted(n for batch in batches for n in batch) == list(range(8)) for batches in passes)
    assert [len(batch) for batch in passes[0]] == [3, 3, 2]
    assert passes[0] == passes[2]
    assert passes[0] != passes[1]
    assert passes[0] != passes[4]


def test_training_stops_when_nothing_improves(samples, monkeypatch):
    monkeypatch.setattr("neuralfactors.learning._descent.IMPROVEMENT", 0.05)
    descent = make_descent(samples, max_iter=300, patience=3, schedule="constant")
    descent.run(samples)
    assert descent.progress.done
    assert 3 < descent.epoch < 300


def test_a_callback_stops_it_and_what_follows_an_epoch_is_called_last(samples):
    seen = []
    descent = make_descent(samples, max_iter=50)
    callbacks = [lambda _: seen.append("told"), lambda record: record["epoch"] == 3]
    descent.run(samples, callbacks=callbacks, after_epoch=lambda d: seen.append(d.epoch))
    assert seen == ["told", 1, "told", 2, "told", 3]
    descent.run(samples)  # done is done
    assert descent.epoch == 3


def test_the_best_by_validation_is_kept(samples):
    descent, accuracies = make_descent(samples, keep="validation", max_iter=4), iter([0.2, 0.9, 0.5, 0.9])
    seen = []

    def evaluate():
        seen.append(values(descent))
        return next(accuracies)

    descent.run(samples, evaluate)
    assert descent.progress.best_epoch == 2
    assert torch.equal(values(descent), seen[1])
    assert [record["accuracy"] for record in descent.progress.history] == [0.2, 0.9, 0.5, 0.9]


def test_other_settings_are_served_unless_the_state_would_not_fit(samples):
    descent = make_descent(samples, optimizer="sgd")
    assert descent.serves(make_descent(samples, optimizer="sgd", learning_rate=1.0, momentum=0.5).settings)
    for other in (
        {"optimizer": "adam"},
        {"optimizer": "sgd", "averaging": "uniform"},
        {"optimizer": "sgd", "momentum": 0.0},
    ):
        assert not descent.serves(make_descent(samples, **other).settings)


def test_the_model_is_in_evaluation_mode_after_training_whatever_happened(samples):
    descent = make_descent(samples, dropout=0.5, hidden=(3,))

    def fail():
        with training(descent.model):
            assert descent.model.training
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not descent.model.training
    descent.run_epoch(samples)
    assert not any(module.training for module in descent.model.modules())


def test_a_training_that_learnt_nothing_says_so(samples):
    still = make_descent(samples, learning_rate=1e-9)
    still.run(samples)
    assert "learning_rate" in still.shortfall(samples)
    learnt = make_descent(samples, max_iter=30)
    assert learnt.shortfall(samples) is None  # nobody knows yet
    learnt.run(samples)
    assert learnt.shortfall(samples) is None


def test_batches_are_read_in_the_precision_of_the_model(samples):
    batch, _ = samples.batch([0], torch.float64)
    assert isinstance(batch, GraphBatch)
    assert batch.node_features.dtype == values(make_descent(samples)).dtype
