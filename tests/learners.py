"""Estimators by the full names of their parameters, for tests that set those of parts."""


def make(kind, *shape, **parameters):
    """`kind(*shape)` with parameters as `set_params` takes them, such as `trainer__learning_rate`."""
    return kind(*shape).set_params(**parameters)
