"""How variants are trained, by one word: the usual way, or literally as the paper says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuralfactors._common.parameters import Parameter
from neuralfactors._runs.config import Parameters
from neuralfactors._runs.names import ALL_VARIANTS

USUAL, LITERAL = "usual", "literal"


@dataclass(frozen=True)
class Procedure:
    """Features and parameters that a run has before its preset, its settings files and its options change them."""

    features: Mapping[str, Parameter] = field(default_factory=dict)
    parameters: Parameters = field(default_factory=dict)


# Subgradient descent of Algorithms 1 and 2 on all images at once. What the paper leaves open is ours: docs/literal.md.
_DESCENT: dict[str, Parameter] = {
    "batch_size": None, "max_iter": 600, "trainer__optimizer": "sgd", "trainer__momentum": 0.9,
    "trainer__schedule": "inverse", "trainer__keep": "objective", "trainer__pretrain": 0, "C": 10.0,
}  # fmt: skip
_REGRESSION: dict[str, Parameter] = {**_DESCENT, "trainer__learning_rate": 0.1, "trainer__t0": 10.0}
_ALL: dict[str, Parameter] = {
    **_DESCENT, **{f"first__{name}": value for name, value in _REGRESSION.items()},
    "trainer__t0": 100.0, "interaction_C": None, "void": "drop", "decoder__method": "alpha-expansion",
    "balance": 1.0, "cost": "region", "region_label": "majority",
}  # fmt: skip
# Largest rates at which the objective falls, on 30 images of KITTI: the more units there are, the longer the gradient.
_RATES = {
    "SGD": (0.1, 0.001), "int+lin": (0.003, 0.001), "bif+nrl": (0.1, 1e-4), "int+nrl": (0.003, 1e-4),
    "int+lin-dagger": (0.02, 0.001), "3-layer": (0.003, 1e-4),
}  # fmt: skip
_LITERAL = Procedure(
    {"words__softness": 0.0, "words__root": False, "standardise": False},
    {
        ALL_VARIANTS: _ALL,
        "unary": {"trainer__learning_rate": 0.1, "trainer__t0": 10.0},
        "CP": {"max_iter": 100},
        **{
            name: {"trainer__learning_rate": unary, "trainer__interaction_learning_rate": interaction}
            for name, (unary, interaction) in _RATES.items()
        },
    },
)
PROCEDURES = {USUAL: Procedure(), LITERAL: _LITERAL}


def procedure_called(name: str) -> Procedure:
    """The procedure of that name."""
    if name not in PROCEDURES:
        raise ValueError(f"procedure must be one of {', '.join(PROCEDURES)}, got {name!r}")
    return PROCEDURES[name]
