"""How far a long task is, for people who wait."""

from __future__ import annotations

UNITS = ((3600, "h"), (60, "min"), (1, "s"))


def told_progress(done: int, total: int, seconds: float) -> str:
    """How much is done after so many seconds, and how long the rest takes if it goes on like that.

    >>> told_progress(3, 60, seconds=9.0)
    '3 of 60 done, about 3 min left'
    >>> told_progress(60, 60, seconds=180.0)
    '60 of 60 done'
    """
    if not 0 < done < total:
        return f"{done} of {total} done"
    left = seconds / done * (total - done)
    size, unit = next((size, unit) for size, unit in UNITS if left >= size or size == 1)
    return f"{done} of {total} done, about {max(1, round(left / size))} {unit} left"
