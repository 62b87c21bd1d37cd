"""Experiments: what the paper's variants are made of, and runs that train them into a folder.

The command line calls `train`, `compare`, `tune` and `resume` with a `RunConfig`; each writes a run folder, of which
`runs` knows the layout. `Means` says how to compute, which changes no result.
"""

from neuralfactors._common.extras import needs

with needs("an experiment", "segment"):
    from neuralfactors._experiment.comparison import compare, resume
    from neuralfactors._experiment.data import Means, fill_cache
    from neuralfactors._experiment.models import build_model
    from neuralfactors._experiment.presets import PRESETS, Preset
    from neuralfactors._experiment.procedures import procedure_called
    from neuralfactors._experiment.rows import evaluate_row
    from neuralfactors._experiment.settings_files import changes_for, parameters_of, read_settings_of
    from neuralfactors._experiment.training import train
    from neuralfactors._experiment.tuning.search import tune
    from neuralfactors._experiment.variants import VARIANTS

__all__ = [
    "PRESETS",
    "VARIANTS",
    "Means",
    "Preset",
    "build_model",
    "changes_for",
    "compare",
    "evaluate_row",
    "fill_cache",
    "parameters_of",
    "procedure_called",
    "read_settings_of",
    "resume",
    "train",
    "tune",
]
