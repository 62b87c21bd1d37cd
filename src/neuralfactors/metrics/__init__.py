"""How well labels were predicted: figures of label vectors, confusion matrices and probabilities.

Everything is a share from 0 to 1. Void, -1, is never counted.
"""

from neuralfactors.metrics._confusion import Scores, confusion_matrix
from neuralfactors.metrics._reliability import Reliability, expected_calibration_error
from neuralfactors.metrics._scorers import exact_match, get_scorer, macro_f1, node_accuracy

__all__ = [
    "Reliability",
    "Scores",
    "confusion_matrix",
    "exact_match",
    "expected_calibration_error",
    "get_scorer",
    "macro_f1",
    "node_accuracy",
]
