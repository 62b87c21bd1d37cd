"""Structured prediction with neural factors.

Names load when they are first used, so that `import neuralfactors.inference` stays fast and free of torch.
"""

from typing import TYPE_CHECKING

from neuralfactors.extras import lazy_names

if TYPE_CHECKING:
    from neuralfactors.estimators import (
        CuttingPlaneSVM,
        FrankWolfeSVM,
        LatentSVM,
        MultiLabelClassifier,
        StructuralSVM,
        StructuredPerceptron,
        UnaryClassifier,
    )
    from neuralfactors.factor_model import BatchModel, FactorModel
    from neuralfactors.factors import Factor, Network
    from neuralfactors.graph import Graph
    from neuralfactors.graph_batch import GraphBatch
    from neuralfactors.inference import marginals, marginals_batch, solve, solve_batch
    from neuralfactors.lattice import chain_edges, chain_graph, grid_directions, grid_edges, grid_graph, point_graphs
    from neuralfactors.learning import (
        CRFLoss,
        PerturbedLoss,
        StructuredHingeLoss,
        StructuredPerceptronLoss,
        Subgradient,
    )
    from neuralfactors.learning.decode import Decoder, decode
    from neuralfactors.potentials import Potentials
    from neuralfactors.segmentation import Segmenter

__version__ = "0.1.0"
__all__ = [
    "BatchModel",
    "CRFLoss",
    "CuttingPlaneSVM",
    "Decoder",
    "Factor",
    "FactorModel",
    "FrankWolfeSVM",
    "Graph",
    "GraphBatch",
    "LatentSVM",
    "MultiLabelClassifier",
    "Network",
    "PerturbedLoss",
    "Potentials",
    "Segmenter",
    "StructuralSVM",
    "StructuredHingeLoss",
    "StructuredPerceptron",
    "StructuredPerceptronLoss",
    "Subgradient",
    "UnaryClassifier",
    "chain_edges",
    "chain_graph",
    "decode",
    "grid_directions",
    "grid_edges",
    "grid_graph",
    "marginals",
    "marginals_batch",
    "point_graphs",
    "solve",
    "solve_batch",
]

_HOMES = {
    "BatchModel": "factor_model",
    "CRFLoss": "learning",
    "CuttingPlaneSVM": "estimators",
    "Decoder": "learning",
    "Factor": "factors",
    "FactorModel": "factor_model",
    "FrankWolfeSVM": "estimators",
    "Graph": "graph",
    "GraphBatch": "graph_batch",
    "LatentSVM": "estimators",
    "MultiLabelClassifier": "estimators",
    "Network": "factors",
    "PerturbedLoss": "learning",
    "Potentials": "potentials",
    "Segmenter": "segmentation",
    "StructuralSVM": "estimators",
    "StructuredHingeLoss": "learning",
    "StructuredPerceptron": "estimators",
    "StructuredPerceptronLoss": "learning",
    "Subgradient": "learning",
    "UnaryClassifier": "estimators",
    "chain_edges": "lattice",
    "chain_graph": "lattice",
    "decode": "learning",
    "grid_directions": "lattice",
    "grid_edges": "lattice",
    "grid_graph": "lattice",
    "marginals": "inference",
    "marginals_batch": "inference",
    "point_graphs": "lattice",
    "solve": "inference",
    "solve_batch": "inference",
}

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
