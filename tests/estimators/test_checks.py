"""scikit-learn's own checks of estimators, as many as there are for data of graphs.

They feed plain matrices, which `OnPoints` makes graphs of one node of; so every estimator has to pass them underneath.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from neuralfactors import point_graphs
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    LatentSVM,
    StructuralSVM,
    StructuredPerceptron,
    UnaryClassifier,
)


class OnPoints(ClassifierMixin, BaseEstimator):
    """A classifier of points by an estimator of graphs."""

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        names = LabelEncoder().fit(y)
        self.classes_ = names.classes_
        if len(self.classes_) < 2:
            raise ValueError("there must be more than one class")
        self.estimator_ = clone(self.estimator).fit(point_graphs(X), names.transform(y)[:, None], sample_weight)
        return self

    def predict(self, X):
        graphs = self._graphs(X)
        return self.classes_[np.concatenate(self.estimator_.predict(graphs))]

    def predict_proba(self, X):
        graphs = self._graphs(X)
        return np.concatenate(self.estimator_.predict_proba(graphs))

    def _graphs(self, X):
        check_is_fitted(self)
        return point_graphs(validate_data(self, X, reset=False))


LEARNERS = [
    UnaryClassifier(max_iter=60, batch_size=None),
    StructuralSVM((), (), max_iter=60, batch_size=None),
    StructuredPerceptron(max_iter=20, batch_size=None),
    FrankWolfeSVM(),
    CuttingPlaneSVM(),
    LatentSVM(1, base=FrankWolfeSVM()),
]
OUT_OF_REACH = {
    "check_sample_weight_equivalence_on_dense_data": "equal to the optimiser's tolerance; see test_sample_weight.py",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([OnPoints(learner) for learner in LEARNERS], expected_failed_checks=lambda _: OUT_OF_REACH)
def test_estimators_on_points(estimator, check):
    check(estimator)
