"""Randomness: what `random_state` may be, wherever it may be given, and the seed that it stands for."""

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """The seed that `random_state` stands for.

    An integer from 0 to 2**63 − 1 is the seed itself. A generator is asked for one, below 2**31, and moves on, so that
    the next call gives another; None draws a fresh one each time. What was drawn here is a seed that numpy, torch,
    scikit-learn and the kernels accept. Anything else is refused.

    >>> seed_of(7), seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    (7, True)
    """
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and 0 <= random_state < 2**63:
        return int(random_state)
    raise ValueError(
        f"random_state must be None, a numpy Generator or RandomState, or an integer from 0 to 2**63 - 1, "
        f"got {random_state!r}"
    )
