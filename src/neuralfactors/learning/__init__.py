"""Learning: potentials in, parameters out. Knows no images and no files."""

from neuralfactors.extras import needs

with needs(__name__, "learn"):
    from neuralfactors.learning.decode import Decoder
    from neuralfactors.learning.losses import LossReport, StructuredHingeLoss, StructuredPerceptronLoss
    from neuralfactors.learning.subgradient import Subgradient

__all__ = ["Decoder", "LossReport", "StructuredHingeLoss", "StructuredPerceptronLoss", "Subgradient"]
