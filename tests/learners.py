"""What tests of learners share: short training, parameters by their full names, what was learnt, and odd data."""

import torch

FAST = {"C": 100.0, "trainer__learning_rate": 0.02, "max_iter": 8}


def make(kind, *shape, **parameters):
    """`kind(*shape)` with parameters as `set_params` takes them, such as `trainer__learning_rate`."""
    return kind(*shape).set_params(**parameters)


def parameters(estimator):
    """All parameters of a fitted model, one after the other."""
    return torch.cat([p.detach().flatten() for p in estimator.model_.parameters()])


class ByIndex:
    """Entries as a pandas Series has them: `series[n]` is that of index n, wherever it stands."""

    def __init__(self, entries, index):
        self.entries, self.index = list(entries), list(index)

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, label):
        return self.entries[self.index.index(label)]

    def __iter__(self):
        return iter(self.entries)


def indexed(X, Y):
    """Graphs and labels that only their positions, not their indices, put together."""
    return ByIndex(X, range(1, len(X) + 1)), ByIndex(Y, range(len(Y))[::-1])
