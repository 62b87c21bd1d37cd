"""Learning: potentials in, parameters out. Knows no images and no files."""

from neuralfactors.learning.losses import LossReport, StructuredHingeLoss, StructuredPerceptronLoss

__all__ = ["LossReport", "StructuredHingeLoss", "StructuredPerceptronLoss"]
