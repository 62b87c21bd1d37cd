"""Experiments: the paper's variants as one table, and runs that train them into a folder."""

from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.folder import RunFolder
from neuralfactors.experiment.preparation import Means, Prepared, fill_cache, open_data, prepare
from neuralfactors.experiment.rows import build_row, evaluate_row, metrics_document, run_row
from neuralfactors.experiment.run import resume, run
from neuralfactors.experiment.variants import VARIANTS, Variant, row_name

__all__ = [
    "VARIANTS",
    "Means",
    "Prepared",
    "RunConfig",
    "RunFolder",
    "Variant",
    "build_row",
    "evaluate_row",
    "fill_cache",
    "metrics_document",
    "open_data",
    "prepare",
    "resume",
    "row_name",
    "run",
    "run_row",
]
