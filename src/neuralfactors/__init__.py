"""Structured prediction with neural factors.

Names load when they are first used, so that `import neuralfactors.inference` stays fast and free of torch.
"""

from typing import TYPE_CHECKING

from neuralfactors._common.extras import lazy_names

if TYPE_CHECKING:
    from neuralfactors._core.export import export_factors
    from neuralfactors._core.factor_model import BatchModel, FactorModel
    from neuralfactors._core.factors import Factor, Network
    from neuralfactors._core.graph import Graph
    from neuralfactors._core.graph_batch import GraphBatch
    from neuralfactors._core.lattice import chain_graph, grid_graph, point_graphs
    from neuralfactors._core.potentials import Potentials
    from neuralfactors._core.typed_model import TypedModel
    from neuralfactors.estimators import (
        CuttingPlaneSVM,
        FrankWolfeSVM,
        GraphScaler,
        LatentSVM,
        MultiLabelClassifier,
        StructuralSVM,
        StructuredPerceptron,
        UnaryClassifier,
    )
    from neuralfactors.inference import marginals, marginals_batch, solve, solve_batch
    from neuralfactors.inference._lattice import chain_edges, grid_directions, grid_edges
    from neuralfactors.learning import (
        CRFLoss,
        PerturbedLoss,
        StructuredHingeLoss,
        StructuredPerceptronLoss,
        Subgradient,
    )
    from neuralfactors.learning._decode import Decoder, decode
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
    "GraphScaler",
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
    "TypedModel",
    "UnaryClassifier",
    "chain_edges",
    "chain_graph",
    "decode",
    "export_factors",
    "grid_directions",
    "grid_edges",
    "grid_graph",
    "marginals",
    "marginals_batch",
    "point_graphs",
    "solve",
    "solve_batch",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_core.export": ("export_factors",),
        "_core.factor_model": ("BatchModel", "FactorModel"),
        "_core.factors": ("Factor", "Network"),
        "_core.graph": ("Graph",),
        "_core.graph_batch": ("GraphBatch",),
        "_core.lattice": ("chain_graph", "grid_graph", "point_graphs"),
        "_core.potentials": ("Potentials",),
        "_core.typed_model": ("TypedModel",),
        "estimators": (
            "CuttingPlaneSVM",
            "FrankWolfeSVM",
            "GraphScaler",
            "LatentSVM",
            "MultiLabelClassifier",
            "StructuralSVM",
            "StructuredPerceptron",
            "UnaryClassifier",
        ),
        "inference": ("marginals", "marginals_batch", "solve", "solve_batch"),
        "inference._lattice": ("chain_edges", "grid_directions", "grid_edges"),
        "learning": (
            "CRFLoss",
            "Decoder",
            "PerturbedLoss",
            "StructuredHingeLoss",
            "StructuredPerceptronLoss",
            "Subgradient",
            "decode",
        ),
        "segmentation": ("Segmenter",),
    },
)
