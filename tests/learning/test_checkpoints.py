"""States of training: JSON and tensors that share no memory with the model, and come back as they were."""

import json

import pytest
import torch

from neuralfactors import FactorModel, Network
from neuralfactors._common.persistence import load_state, save_state
from neuralfactors.datasets import make_chains
from neuralfactors.learning import Decoder, Subgradient
from neuralfactors.learning._checkpoints import restore_training, training_state
from neuralfactors.learning._descent import Descent
from neuralfactors.learning._subgradient import TrainingSettings
from neuralfactors.learning._training_graphs import Samples

SAMPLES = Samples.check(*make_chains(6, 3, 2))


class Counting(torch.nn.Linear):
    """A factor with a buffer that every pass changes."""

    def __init__(self):
        super().__init__(SAMPLES.n_node_features, 2)
        self.register_buffer("passes", torch.zeros(1))

    def forward(self, features):
        self.passes += self.training
        return super().forward(features)


def descent_of(seed=0, **trainer):
    torch.manual_seed(seed)
    interaction = Network().build(SAMPLES.n_edge_features, 2, 2, torch.Generator().manual_seed(seed))
    trainer = Subgradient(**{"learning_rate": 0.1, **trainer})
    settings = TrainingSettings(trainer, (5.0, 5.0), 10, 2, "hinge", "drop", (0, 0), 0)
    return Descent(FactorModel(Counting(), interaction, 2).eval(), settings, Decoder("exhaustive"))


def state_of(descent):
    document, tensors = training_state(descent)
    return json.loads(json.dumps(document)), tensors


@pytest.mark.parametrize("averaging", [None, "linear"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "adagrad", "rmsprop"])
def test_a_state_survives_the_file(tmp_path, optimizer, averaging):
    options = {"optimizer": optimizer, "averaging": averaging}
    descent = descent_of(**options)
    for _ in range(2):
        descent.run_epoch(SAMPLES)
    save_state(tmp_path / "state", *training_state(descent))
    document, tensors = load_state(tmp_path / "state")
    other = descent_of(seed=7, **options)
    other.run_epoch(SAMPLES)  # it has a state of its own, which goes
    restore_training(other, document, tensors)
    before, after = state_of(descent), state_of(other)
    assert before[0] == after[0]
    assert before[1].keys() == after[1].keys()
    assert all(torch.equal(value, after[1][name]) for name, value in before[1].items())
    assert float(other.model.unary.passes) == float(descent.model.unary.passes) > 0


def test_a_state_does_not_change_under_its_writer():
    descent = descent_of(averaging="uniform")
    descent.run_epoch(SAMPLES)
    _, tensors = training_state(descent)
    kept = {name: value.clone() for name, value in tensors.items()}
    descent.run_epoch(SAMPLES)
    assert all(torch.equal(value, kept[name]) for name, value in tensors.items())
    places = [value.data_ptr() for value in tensors.values() if value.numel()]
    assert len(set(places)) == len(places)


def test_a_state_of_other_factors_does_not_fit():
    descent = descent_of()
    descent.run_epoch(SAMPLES)
    document, tensors = training_state(descent)
    tensors["parameter.0"] = torch.zeros(9, 9)
    with pytest.raises((RuntimeError, ValueError)):
        restore_training(descent_of(), document, tensors)
