"""Experiments: what the paper's variants are made of, and runs that train them into a folder.

The command line calls `train`, `compare`, `tune` and `resume` with a `RunConfig`; each writes a run folder, of which
`runs` knows the layout. `Means` says how to compute, which changes no result.
"""

from neuralfactors.extras import needs

with needs(__name__, "segment"):
    from neuralfactors.experiment.comparison import compare, resume
    from neuralfactors.experiment.data import Means, fill_cache
    from neuralfactors.experiment.models import build_model
    from neuralfactors.experiment.presets import PRESETS, Preset
    from neuralfactors.experiment.rows import evaluate_row
    from neuralfactors.experiment.settings_files import every_variant, parameters_of, read_settings_of
    from neuralfactors.experiment.training import train
    from neuralfactors.experiment.tuning.search import tune
    from neuralfactors.experiment.variants import VARIANTS

__all__ = [
    "PRESETS",
    "VARIANTS",
    "Means",
    "Preset",
    "build_model",
    "compare",
    "evaluate_row",
    "every_variant",
    "fill_cache",
    "parameters_of",
    "read_settings_of",
    "resume",
    "train",
    "tune",
]
