"""Estimators in the shape of scikit-learn: `fit(X, Y)` with graphs and label vectors, `predict`, `score`, `save`.

They are made of parts: a `Network` for each factor, a `Subgradient` that trains, a `Decoder` that does inference.
`GridSearchCV` and `set_params` reach into a part by names such as `trainer__learning_rate`.

- `StructuralSVM`: linear or neural factors, trained together under a max-margin loss.
- `StructuredPerceptron`: the same without margin and regulariser, averaged.
- `UnaryClassifier`: every node by itself; also the first step of bifurcated training.
- `LatentSVM`: hidden states of labels, and hidden nodes, around one of them.
- `MultiLabelClassifier`: several labels a point, on plain arrays.
- `CuttingPlaneSVM`, `FrankWolfeSVM`: linear factors, trained to a proved duality gap.
"""

from neuralfactors.extras import needs

with needs(__name__, "learn"):
    from neuralfactors.estimators.base import StructuredEstimator
    from neuralfactors.estimators.checkpoint import Checkpoint
    from neuralfactors.estimators.latent import LatentSVM
    from neuralfactors.estimators.linear import CuttingPlaneSVM, FrankWolfeSVM
    from neuralfactors.estimators.multilabel import MultiLabelClassifier, chow_liu_tree
    from neuralfactors.estimators.perceptron import StructuredPerceptron
    from neuralfactors.estimators.structural import StructuralSVM
    from neuralfactors.estimators.unary import UnaryClassifier
    from neuralfactors.factors import Network
    from neuralfactors.learning.decode import Decoder
    from neuralfactors.learning.history import TensorBoard
    from neuralfactors.learning.subgradient import Subgradient

load = StructuredEstimator.load  # whatever estimator the folder holds

__all__ = [
    "Checkpoint",
    "CuttingPlaneSVM",
    "Decoder",
    "FrankWolfeSVM",
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
