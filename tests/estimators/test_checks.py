"""scikit-learn's own checks of estimators, as many as there are for data of graphs.

They feed plain matrices and one class a point. `OnPoints` makes graphs of one node of them, `OnIndicators` a label for
every class; so every estimator has to pass them underneath.
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
    MultiLabelClassifier,
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
        self.estimator_ = clone(self.estimator).fit(self.samples(X), self.labels(names.transform(y)), sample_weight)
        return self

    def predict(self, X):
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        check_is_fitted(self)
        found = self.estimator_.predict_proba(self.samples(validate_data(self, X, reset=False)))
        return self.probabilities(found)

    def samples(self, X):
        return point_graphs(X)

    def labels(self, y):
        return y[:, None]

    def probabilities(self, found):
        return np.concatenate(found)


class OnIndicators(OnPoints):
    """A classifier of points by one of several labels, of which every point has one."""

    def samples(self, X):
        return X

    def labels(self, y):
        return np.eye(len(self.classes_), dtype=int)[y]

    def probabilities(self, found):
        return found / found.sum(axis=1, keepdims=True)


LEARNERS = [
    UnaryClassifier(max_iter=60, batch_size=None),
    StructuralSVM((), (), max_iter=60, batch_size=None),
    StructuredPerceptron(max_iter=20, batch_size=None),
    FrankWolfeSVM(),
    CuttingPlaneSVM(),
    LatentSVM(1, base=FrankWolfeSVM()),
]
SEVERAL = MultiLabelClassifier(hidden=(), base=StructuralSVM(max_iter=200, batch_size=None))
OUT_OF_REACH = {
    "check_sample_weight_equivalence_on_dense_data": "equal to the optimiser's tolerance; see test_sample_weight.py",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [*map(OnPoints, LEARNERS), OnIndicators(SEVERAL)], expected_failed_checks=lambda _: OUT_OF_REACH
)
def test_estimators_on_plain_arrays(estimator, check):
    check(estimator)
