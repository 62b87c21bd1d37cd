"""Estimators in the shape of scikit-learn: `fit(X, Y)` with graphs and label vectors, `predict`, `score`, `save`.

They are made of parts: a `Network` for each factor, a `Subgradient` that trains, a `Decoder` that does inference.
`GridSearchCV` and `set_params` reach into a part by names such as `trainer__learning_rate`.

- `StructuralSVM`: linear or neural factors, trained together under a max-margin loss.
- `StructuredPerceptron`: the same without margin and regulariser, averaged.
- `UnaryClassifier`: every node by itself; also the first step of bifurcated training.
- `LatentSVM`: hidden states of labels, and hidden nodes, around one of them.
- `MultiLabelClassifier`: several labels a point, on plain arrays.
- `GraphScaler`: standardises features, before any of them in a pipeline.
- `CuttingPlaneSVM`, `FrankWolfeSVM`: linear factors, trained to a proved duality gap.
"""

from neuralfactors._common.extras import needs

with needs(__name__, "learn"):
    from neuralfactors._core.factors import Network
    from neuralfactors.estimators._base import StructuredEstimator
    from neuralfactors.estimators._checkpoint import Checkpoint
    from neuralfactors.estimators._latent import LatentSVM
    from neuralfactors.estimators._linear_svms import CuttingPlaneSVM, FrankWolfeSVM
    from neuralfactors.estimators._multilabel import MultiLabelClassifier, chow_liu_tree
    from neuralfactors.estimators._perceptron import StructuredPerceptron
    from neuralfactors.estimators._saving import Saved
    from neuralfactors.estimators._scaler import GraphScaler
    from neuralfactors.estimators._structural import StructuralSVM
    from neuralfactors.estimators._unary import UnaryClassifier
    from neuralfactors.learning._decode import Decoder
    from neuralfactors.learning._history import TensorBoard
    from neuralfactors.learning._subgradient import Subgradient

load = Saved.load  # whatever estimator the folder holds

__all__ = [
    "Checkpoint",
    "CuttingPlaneSVM",
    "Decoder",
    "FrankWolfeSVM",
    "GraphScaler",
    "LatentSVM",
    "MultiLabelClassifier",
    "Network",
    "StructuralSVM",
    "StructuredEstimator",
    "StructuredPerceptron",
    "Subgradient",
    "TensorBoard",
    "UnaryClassifier",
    "chow_liu_tree",
    "load",
]
