"""TrainingSettings of training: what is refused in one sentence, and what one value means for both factors."""

import pytest
from sklearn.base import clone

from neuralfactors.learning import Subgradient
from neuralfactors.learning._subgradient import TrainingSettings, pair


def settings_of(**changes):
    known = {"C": (1.0, 1.0), "max_iter": 5, "batch_size": None, "loss": "hinge", "void": "drop", "n_hidden": (0, 0)}
    return TrainingSettings(trainer=changes.pop("trainer", Subgradient()), seed=0, **{**known, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"learning_rate": float("inf")}, "learning_rate"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"interaction_learning_rate": 0}, "learning_rate"),
        ({"momentum": 1.0}, "momentum"),
        ({"interaction_momentum": -0.1}, "momentum"),
        ({"momentum": float("nan")}, "momentum"),
        ({"pretrain": -1}, "pretrain"),
        ({"pretrain": 1.5}, "pretrain"),
        ({"patience": 0}, "patience"),
        ({"t0": -1.0}, "t0"),
        ({"t0": float("nan")}, "t0 must be a finite number ≥ 0, got nan"),
        ({"t0": float("inf")}, "t0 must be a finite number ≥ 0, got inf"),
        ({"keep": "best"}, "keep must be one of"),
        ({"schedule": "linear"}, "schedule must be one of"),
    ],
)
def test_what_cannot_be_is_refused(changes, words):
    trainer = Subgradient(**changes)  # only stored, as scikit-learn has it
    with pytest.raises(ValueError, match=rf"\A[^\n]*{words}[^\n]*\Z"):
        trainer.check()
    with pytest.raises(ValueError, match=words):
        settings_of(trainer=trainer)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"C": (0.0, 1.0)}, "C must be positive"),
        ({"C": (1.0, -1.0)}, "C must be positive"),
        ({"C": (float("inf"), 1.0)}, "C"),
        ({"C": ("much", 1.0)}, "C"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 2.5}, "max_iter"),
        ({"batch_size": -3}, "batch_size"),
        ({"void": "keep"}, "void must be one of"),
    ],
)
def test_settings_are_checked(changes, words):
    with pytest.raises(ValueError, match=rf"\A[^\n]*{words}[^\n]*\Z"):
        settings_of(**changes)


def test_auto_is_left_for_later():
    settings = settings_of(C=("auto", "auto"), max_iter="auto", batch_size="auto")
    assert settings.trainer.learning_rates == ("auto", "auto")


def test_the_second_factor_follows_the_first_unless_it_is_told_otherwise():
    assert pair(3, None) == (3, 3)
    assert pair(3, 0) == (3, 0)
    assert Subgradient(learning_rate=0.1).learning_rates == (0.1, 0.1)
    assert Subgradient(learning_rate=0.1, interaction_learning_rate=0.2).learning_rates == (0.1, 0.2)
    assert Subgradient(momentum=0.5, interaction_momentum=0.0).momenta == (0.5, 0.0)


def test_only_a_perceptron_has_no_regulariser():
    assert [settings_of(loss=loss).regularise for loss in ("hinge", "cross-entropy", "perceptron")] == [
        True,
        True,
        False,
    ]


def test_it_is_a_part_that_scikit_learn_can_copy_and_change():
    trainer = Subgradient(learning_rate=0.01, averaging="linear")
    assert clone(trainer).get_params() == trainer.get_params()
    assert trainer.set_params(t0=3.0).t0 == 3.0
    with pytest.raises(ValueError, match="magic"):
        trainer.set_params(magic=1)
