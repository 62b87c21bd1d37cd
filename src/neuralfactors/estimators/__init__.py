"""Estimators in the shape of scikit-learn: `fit(X, Y)` with graphs and label vectors, `predict`, `score`, `save`."""

from neuralfactors.estimators.base import StructuredEstimator
from neuralfactors.estimators.linear import CuttingPlaneSVM, FrankWolfeSVM
from neuralfactors.estimators.perceptron import StructuredPerceptron
from neuralfactors.estimators.structural import StructuralSVM
from neuralfactors.estimators.unary import UnaryClassifier

load = StructuredEstimator.load  # whatever estimator the folder holds

__all__ = [
    "CuttingPlaneSVM",
    "FrankWolfeSVM",
    "StructuralSVM",
    "StructuredEstimator",
    "StructuredPerceptron",
    "UnaryClassifier",
    "load",
]
