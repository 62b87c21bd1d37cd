"""What tests of learners share: short training, parameters of parts by their full names, and what was learnt."""

import torch

FAST = {"C": 100.0, "trainer__learning_rate": 0.02, "max_iter": 8}


def make(kind, *shape, **parameters):
    """`kind(*shape)` with parameters as `set_params` takes them, such as `trainer__learning_rate`."""
    return kind(*shape).set_params(**parameters)


def parameters(estimator):
    """All parameters of a fitted model, one after the other."""
    return torch.cat([p.detach().flatten() for p in estimator.model_.parameters()])
