"""Iterates: the best and the average beside the one that moves, each with the buffers that belong to it."""

import pytest
import torch
from torch import nn

from neuralfactors.learning._iterates import Iterates, copy_values


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))


def fill(model, value):
    """Set all parameters and floating-point buffers."""
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                tensor.fill_(value)


def values(model):
    return {float(x) for tensor in model.state_dict().values() if tensor.is_floating_point() for x in tensor.flatten()}


def iterates_of(model, averaging=None):
    return Iterates(model, list(model.parameters()), averaging)


def test_the_best_comes_back_with_its_buffers(model):
    found = iterates_of(model)
    fill(model, 1.0)
    found.remember()
    fill(model, 2.0)
    found.show_best()
    assert values(model) == {1.0}


def test_what_is_remembered_does_not_move_with_the_model(model):
    fill(model, 1.0)
    found = iterates_of(model)
    fill(model, 5.0)
    assert {float(x) for value in found.best_values for x in value.flatten()} == {1.0}


def test_other_values_may_be_remembered(model):
    found = iterates_of(model)
    fill(model, 3.0)
    earlier = found.copy()
    fill(model, 4.0)
    found.remember(earlier)
    found.show_best()
    assert {float(x) for p in model.parameters() for x in p.detach().flatten()} == {3.0}


@pytest.mark.parametrize(("averaging", "expected"), [("uniform", 2.0), ("linear", 7 / 3)])
def test_the_average_is_shown_and_hidden(model, averaging, expected):
    found = iterates_of(model, averaging)
    for value in (1.0, 2.0, 3.0):
        fill(model, value)
        found.average.update(found.parameters)
    found.show_average()
    assert [float(p.detach().mean()) for p in model.parameters()] == pytest.approx([expected] * 4)
    found.hide_average()
    assert values(model) == {3.0}
    found.hide_average()  # twice is once
    assert values(model) == {3.0}


def test_without_an_average_there_is_nothing_to_show(model):
    fill(model, 2.0)
    found = iterates_of(model)
    found.show_average()
    found.hide_average()
    assert values(model) == {2.0}


def test_with_an_average_that_is_what_is_remembered(model):
    found = iterates_of(model, "uniform")
    for value in (1.0, 3.0):
        fill(model, value)
        found.average.update(found.parameters)
    found.remember()
    found.show_best()
    assert {float(x) for p in model.parameters() for x in p.detach().flatten()} == {2.0}


def test_a_trial_leaves_no_trace(model):
    fill(model, 1.0)
    found = iterates_of(model)

    def fail():
        with found.restored() as kept:
            fill(model, 9.0)
            assert {float(x) for value in kept for x in value.flatten()} == {1.0}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert values(model) == {1.0}


def test_buffers_that_a_module_replaces_are_still_its_own(model):
    found = iterates_of(model)
    fill(model, 1.0)
    model[1].running_mean = torch.full((2,), 6.0)  # another tensor in its place
    found.remember()
    fill(model, 2.0)
    found.show_best()
    assert model[1].running_mean.tolist() == [6.0, 6.0]


def test_values_and_targets_must_match():
    with pytest.raises(ValueError, match="zip"):
        copy_values([torch.zeros(1)], [])
