"""Counts how often something is done, whoever asks for it."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np


@dataclass(frozen=True)
class LoggedImage:
    """Reads an image in whatever process, and leaves a line in a file whenever it does."""

    image: np.ndarray
    log: Path

    def __call__(self):
        with self.log.open("a") as log:
            log.write("read\n")
        return self.image


@contextmanager
def counting(**places):
    """After the block: how often each of `places`, an owner and an attribute, was called in it, by name."""
    calls, counts = [], {}

    def counted(name, function):
        def call(*args, **options):
            calls.append(name)  # one step, also where threads do the work
            return function(*args, **options)

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in places.items():
            stack.enter_context(patch.object(owner, attribute, counted(name, getattr(owner, attribute))))
        yield counts
    counts.update({name: calls.count(name) for name in places})
