"""Inference on general graphs: arrays in; labels or marginals, values and what is proved out. Does not import torch."""

from neuralfactors.inference.formats import MapProblem, read_uai, read_wcsp, write_uai
from neuralfactors.inference.labellings import TopK, sample, topk
from neuralfactors.inference.result import BatchResult, Result
from neuralfactors.inference.solve import METHODS, solve, solve_batch
from neuralfactors.inference.sums import SUM_METHODS, BatchMarginals, Marginals, marginals, marginals_batch

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
