"""Names of the variants: the rows of the paper's tables, as folders spell them and as the paper prints them."""

from __future__ import annotations

from dataclasses import dataclass

ALL_VARIANTS = "*"  # stands for every variant in settings
USUAL = "int+nrl"  # what is trained and used unless another variant is named
BASELINE = "SGD"  # what the paper's pictures compare it with
STATE_OF_THE_ART = "neural-factors"  # the paper's second setting, for CNN features


@dataclass(frozen=True)
class VariantName:
    """A row of the paper's tables."""

    key: str  # as folders and commands spell it
    printed: str
    training: str  # "unary", "bifurcated" or "integrated"
    description: str


NAMES = {
    name.key: name
    for name in (
        VariantName("unary", "unary", "unary", "Logistic regression on each region alone, no interactions"),
        VariantName("CP", "CP", "bifurcated", "Linear factors on its outputs"),
        VariantName(BASELINE, "SGD", "bifurcated", "Linear factors on its outputs"),
        VariantName("int+lin", "int+lin", "integrated", "Neural unary, linear interaction factors, trained together"),
        VariantName("bif+nrl", "bif+nrl", "bifurcated", "Neural interaction factors on fixed logistic outputs"),
        VariantName(USUAL, "int+nrl", "integrated", "Neural unary and neural interaction factors, trained together"),
        VariantName("int+lin-dagger", "int†+lin", "integrated", "Like int+lin, with one hidden unit per class"),
        VariantName("3-layer", "3-layer", "integrated", "Like int+nrl, with three hidden layers"),
        VariantName(
            STATE_OF_THE_ART,
            "neural factors",
            "integrated",
            "Like int+nrl, with one image per step and balanced classes",
        ),
    )
}
TABLED = tuple(key for key in NAMES if key != STATE_OF_THE_ART)  # those of the paper's tables I to III
_KEYS = {name.printed: name.key for name in NAMES.values()}


def variant_key(name: str) -> str:
    """The variant called `name`, as folders spell it.

    >>> variant_key("int†+lin")
    'int+lin-dagger'
    """
    key = _KEYS.get(name, name)
    if key not in NAMES:
        raise ValueError(f"variant must be one of {', '.join(NAMES)}, got {name!r}")
    return key


def key_or_all(name: str) -> str:
    """The same, where ``"*"`` may stand for every variant."""
    return name if name == ALL_VARIANTS else variant_key(name)
