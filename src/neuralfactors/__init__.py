"""Structured prediction with neural factors.

Names load when they are first used, so that `import neuralfactors.inference` stays fast and free of torch.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralfactors.inference import solve, solve_batch

__version__ = "0.1.0"
__all__ = ["solve", "solve_batch"]

_ROOMS = {"solve": "inference", "solve_batch": "inference"}


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
