"""Pretraining: the unary factor learns alone, by cross-entropy, before all factors learn together."""

import pytest
import torch
from learners import make

from neuralfactors.datasets import make_chains
from neuralfactors.estimators import Checkpoint, StructuralSVM, UnaryClassifier

FAST = {"C": 10.0, "trainer__learning_rate": 0.02, "max_iter": 4, "batch_size": 8, "trainer__keep": "last"}


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 6, 3, noise=0.7)


def values(parameters):
    return torch.cat([parameter.detach().flatten() for parameter in parameters])


def test_it_is_the_training_of_a_unary_classifier(chains):
    begun = []

    def adam(groups):  # called once for each of the two phases, with the parameters that it begins with
        begun.append(values(groups[0]["params"]))
        return torch.optim.Adam([{"params": group["params"], "lr": group["lr"]} for group in groups])

    alone = make(UnaryClassifier, (5,), **{**FAST, "max_iter": 3}).fit(*chains)
    joint = make(StructuralSVM, (5,), (5,), trainer__pretrain=3, trainer__optimizer=adam, **FAST).fit(*chains)
    assert len(begun) == 2
    torch.testing.assert_close(begun[1], values(alone.model_.unary.parameters()))
    assert not torch.equal(begun[1], values(joint.model_.unary.parameters()))
    assert [record["epoch"] for record in joint.history_] == [1, 2, 3, 4]


def test_it_may_have_a_rate_of_its_own(chains):
    rates = {"trainer__learning_rate": 1e-7, "trainer__pretrain_learning_rate": 0.05}
    alone = make(UnaryClassifier, (5,), **{**FAST, "max_iter": 3, "trainer__learning_rate": 0.05}).fit(*chains)
    joint = make(StructuralSVM, (5,), (5,), trainer__pretrain=3, **{**FAST, **rates}).fit(*chains)
    found, expected = (values(each.model_.unary.parameters()) for each in (joint, alone))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    with pytest.raises(ValueError, match="learning_rate must be positive"):
        make(StructuralSVM, trainer__pretrain_learning_rate=0.0, **FAST).fit(*chains)


def test_it_gives_a_better_start(chains):
    hinge = [
        make(StructuralSVM, (5,), (5,), trainer__pretrain=n, **FAST).fit(*chains).history_[0]["hinge"] for n in (0, 5)
    ]
    assert hinge[1] < 0.8 * hinge[0]


def test_interrupted_runs_end_with_the_same_bits(chains, tmp_path):
    svm = make(StructuralSVM, (5,), (5,), trainer__pretrain=3, unary__dropout=0.3, interaction__dropout=0.3, **FAST)
    expected = values(svm.fit(*chains).model_.parameters())

    def interrupt(record):
        raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "c")
    svm.set_params(callbacks=[kept, interrupt])
    with pytest.raises(KeyboardInterrupt):
        svm.fit(*chains)
    assert not (tmp_path / "c").exists()  # before the first checkpoint: pretraining is done once more
    resumed = svm.set_params(callbacks=[kept, lambda record: record["epoch"] == 2 and interrupt(record)])
    with pytest.raises(KeyboardInterrupt):
        resumed.fit(*chains)
    assert (tmp_path / "c").exists()
    assert torch.equal(values(svm.set_params(callbacks=[kept]).fit(*chains).model_.parameters()), expected)


def test_a_warm_start_goes_on_instead(chains):
    svm = make(StructuralSVM, (5,), (5,), trainer__pretrain=3, warm_start=True, **FAST).fit(*chains)
    before = svm.history_[-1]["hinge"]
    assert svm.fit(*chains).history_[0]["hinge"] == pytest.approx(before, rel=0.3)


@pytest.mark.parametrize("pretrain", [-1, 1.5, "all"])
def test_a_bad_number_is_refused(chains, pretrain):
    with pytest.raises(ValueError, match="pretrain must be an integer ≥ 0"):
        make(StructuralSVM, (), (), trainer__pretrain=pretrain).fit(*chains)
