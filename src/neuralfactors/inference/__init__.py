"""MAP inference on general graphs: arrays in; labels, score, bound and status out. Knows no torch."""

from neuralfactors.inference.formats import MapProblem, read_uai, read_wcsp, write_uai
from neuralfactors.inference.result import BatchResult, Result
from neuralfactors.inference.solve import METHODS, solve, solve_batch

__all__ = [
    "METHODS",
    "BatchResult",
    "MapProblem",
    "Result",
    "read_uai",
    "read_wcsp",
    "solve",
    "solve_batch",
    "write_uai",
]
