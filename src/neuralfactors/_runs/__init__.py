"""The run folder: layout, format, typed records, names of variants, lock. Imports neither torch nor scikit-learn.

`RunFolder` knows where everything is, `records` what it holds, and `names` what the variants are called. Whoever writes
or reads a run goes through here, so that no file name, unit or table of variants exists twice.
"""

from neuralfactors._runs.config import RunConfig, Search, Splits
from neuralfactors._runs.names import NAMES, STATE_OF_THE_ART, TABLED, USUAL, VariantName, variant_key
from neuralfactors._runs.records import (
    Ablation,
    Accuracy,
    ClassInfo,
    Epoch,
    Metrics,
    Regions,
    Row,
    Run,
    Settings,
    Trial,
)
from neuralfactors._runs.run_folder import RowFolder, RunFolder, typed

__all__ = [
    "NAMES",
    "STATE_OF_THE_ART",
    "TABLED",
    "USUAL",
    "Ablation",
    "Accuracy",
    "ClassInfo",
    "Epoch",
    "Metrics",
    "Regions",
    "Row",
    "RowFolder",
    "Run",
    "RunConfig",
    "RunFolder",
    "Search",
    "Settings",
    "Splits",
    "Trial",
    "VariantName",
    "typed",
    "variant_key",
]
