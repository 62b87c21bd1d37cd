"""Learning: potentials in, parameters out. Independent of images and files.

Losses for a custom training loop, and the two parts of every estimator: `Decoder`, which does inference, and
`Subgradient`, which trains. The loops themselves (`descent`, `cutting_plane`, `frank_wolfe`) are not public; estimators
run them.
"""

from neuralfactors._common.extras import needs

with needs(__name__, "learn"):
    from neuralfactors.learning._decode import Decoder, decode
    from neuralfactors.learning._likelihood import CRFLoss
    from neuralfactors.learning._losses import LossReport, StructuredHingeLoss, StructuredPerceptronLoss
    from neuralfactors.learning._perturbed import PerturbedLoss, perturbed_marginals
    from neuralfactors.learning._subgradient import Subgradient

__all__ = [
    "CRFLoss",
    "Decoder",
    "LossReport",
    "PerturbedLoss",
    "StructuredHingeLoss",
    "StructuredPerceptronLoss",
    "Subgradient",
    "decode",
    "perturbed_marginals",
]
