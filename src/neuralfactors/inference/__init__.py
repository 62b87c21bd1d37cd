"""Inference on general graphs: arrays in; labels or marginals, values and what is proved out. Does not import torch."""

from neuralfactors.inference._formats import MapProblem, read_uai, read_wcsp, write_uai
from neuralfactors.inference._labellings import TopK, sample, topk
from neuralfactors.inference._result import BatchResult, Result
from neuralfactors.inference._solve import METHODS, solve, solve_batch
from neuralfactors.inference._sums import SUM_METHODS, BatchMarginals, Marginals, marginals, marginals_batch

__all__ = [
    "METHODS",
    "SUM_METHODS",
    "BatchMarginals",
    "BatchResult",
    "MapProblem",
    "Marginals",
    "Result",
    "TopK",
    "marginals",
    "marginals_batch",
    "read_uai",
    "read_wcsp",
    "sample",
    "solve",
    "solve_batch",
    "topk",
    "write_uai",
]
