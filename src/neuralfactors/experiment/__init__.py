"""Experiments: the paper's variants as one table, and runs that train them into a folder."""

from neuralfactors.experiment.comparison import compare, resume
from neuralfactors.experiment.config import RunConfig, Search
from neuralfactors.experiment.data import Means, Prepared, fill_cache, open_data, prepare
from neuralfactors.experiment.folder import SEEDS, RunFolder
from neuralfactors.experiment.presets import PRESETS, Preset
from neuralfactors.experiment.rows import build_row, evaluate_row, metrics_document, run_row
from neuralfactors.experiment.settings_files import every_row, merge_parameters, read_settings, read_settings_of
from neuralfactors.experiment.training import run
from neuralfactors.experiment.tuning.search import best_trial, read_trials, tune
from neuralfactors.experiment.variants import ROWS, STATE_OF_THE_ART, VARIANTS, Variant, row_name

__all__ = [
    "PRESETS",
    "ROWS",
    "SEEDS",
    "STATE_OF_THE_ART",
    "VARIANTS",
    "Means",
    "Prepared",
    "Preset",
    "RunConfig",
    "RunFolder",
    "Search",
    "Variant",
    "best_trial",
    "build_row",
    "compare",
    "evaluate_row",
    "every_row",
    "fill_cache",
    "merge_parameters",
    "metrics_document",
    "open_data",
    "prepare",
    "read_settings",
    "read_settings_of",
    "read_trials",
    "resume",
    "row_name",
    "run",
    "run_row",
    "tune",
]
