"""MAP inference on general graphs: arrays in; labels, score, bound and status out. Knows no torch."""

from neuralfactors.inference.result import BatchResult, Result
from neuralfactors.inference.solve import METHODS, solve, solve_batch

__all__ = ["METHODS", "BatchResult", "Result", "solve", "solve_batch"]
