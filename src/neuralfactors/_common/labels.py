"""What labels are to every room: integers from 0, and one mark for what has none.

A label numbers a class. Arrays of labels hold `VOID` where nothing is known: such nodes carry no loss in training, and
such pixels are not counted in any figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

VOID = -1


def refuse_masked(values: Any, name: str, filling: str = "-1 where there is no label") -> None:
    """Refuse an array some of whose entries are masked: numpy would drop the mask, and what lies beneath it count."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not have masked entries: fill them, with {filling}")
