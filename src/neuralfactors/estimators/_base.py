"""What all estimators share besides prediction: the model that is built, and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import nn

from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import State
from neuralfactors._core.factor_model import BatchModel, FactorModel
from neuralfactors._core.factors import Network
from neuralfactors._core.node_types import NodeTypes
from neuralfactors._core.typed_model import TypedModel
from neuralfactors._core.weight_signs import check_signs
from neuralfactors.estimators._prediction import Predictor
from neuralfactors.estimators._saving import Saved, Stored, from_document, to_document, to_json
from neuralfactors.learning._history import Callback
from neuralfactors.learning._training_graphs import Samples

Described = Network | nn.Module  # a factor that is to be built, or to be copied
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredEstimator(Saved, Predictor):
    """Base of estimators whose fitted state is a `FactorModel`: prediction, score and files.

    A subclass fills `model_`, `n_labels_`, `n_node_features_`, `n_edge_features_`, `order_` and `history_` in `fit`.

    Parameters
    ----------
    n_labels : int, sequence of int or None, default=None
        Number of labels; a sequence for graphs with `node_types`, one number per type. None: the highest label in Y
        plus 1; where labels are no integers, as many as there are.
    callbacks : sequence of callable or None, default=None
        Each gets the record of every epoch; one that returns True ends the training.
    verbose : int, default=0
        1 shows a progress bar.
    """

    n_labels: int | Sequence[int] | None = None
    callbacks: Sequence[Callback] | None = None
    verbose: int = 0

    # What files hold of the fitted state besides the model and its history.
    _fitted: ClassVar[tuple[str, ...]] = (
        "n_labels_", "n_node_features_", "n_edge_features_", "order_", "label_values_", "temperature_",
        "type_labels_", "type_pairs_",
    )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _state(self) -> State:
        check_is_fitted(self, "model_")
        self._check_description()
        parameters, omitted = to_document(self.plain_params())
        fitted = {name: to_json(getattr(self, name)) for name in self._fitted if hasattr(self, name)}
        document = {"class": type(self).__name__, "parameters": parameters, "omitted": omitted, "fitted": fitted}
        return State({**document, "history": self.history_}, self.model_.state_dict())

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        """The fitted estimator that a file describes; refused where its parts do not fit together."""
        estimator, (document, tensors, path, parameters) = cls(), stored
        from_document(estimator, document, path, parameters)
        for name in cls._fitted:
            if name in document["fitted"]:
                setattr(estimator, name, document["fitted"][name])
        if estimator.label_values_ is not None:
            estimator.label_values_ = np.array(estimator.label_values_)
        try:
            estimator.model_ = estimator._build_model(torch.Generator().manual_seed(0))
        except ValueError as error:
            raise ValueError(f"{path} could not be loaded: {error}") from error
        try:
            estimator.model_.load_state_dict(tensors)
        except RuntimeError as error:
            raise FileFormatError(f"{path} contains tensors that do not fit its parameters") from error
        estimator.history_ = document["history"]
        return estimator

    def _take_sizes(self, samples: Samples) -> None:
        """Remember what the samples say of labels, features and types."""
        self.n_labels_ = int(samples.n_labels)
        self.n_node_features_ = samples.n_node_features
        self.n_edge_features_ = samples.n_edge_features
        self.order_ = samples.order
        self.label_values_ = samples.classes
        self.temperature_ = 1.0
        types = samples.types
        self.type_labels_ = None if types is None else list(types.n_labels)
        self.type_pairs_ = None if types is None else [list(pair) for pair in types.pairs]

    def _networks(self) -> tuple[Described, Described | None]:
        """What the unary and the interaction factor are to be."""
        raise NotImplementedError

    def _place(self) -> tuple[str, str]:
        """Device and type of the model's numbers."""
        raise NotImplementedError

    def _build_model(self, generator: torch.Generator) -> FactorModel:
        """A model with fresh parameters, drawn from `generator`."""
        unary, interaction = self._networks()
        types = self._types()
        if types is None or isinstance(unary, BatchModel):
            factors = [_build(unary, generator, self.n_node_features_, self.n_labels_, 1)]
            if interaction is not None:
                factors.append(_build(interaction, generator, self.n_edge_features_, self.n_labels_, self.order_))
            model = self._join(*factors)
        else:
            widths = self.n_node_features_, self.n_edge_features_
            model = _build_typed(types, _as_networks(unary, interaction), widths, generator)
        device, dtype = self._place()
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {sorted(DTYPES)}, got {dtype!r}")
        self._described = self._description()  # as they are now, whatever set_params may say later
        try:
            # In evaluation mode for good: switching it at each prediction would let threads disturb one another.
            return model.to(device, DTYPES[dtype]).eval()
        except (AssertionError, RuntimeError) as error:
            raise ValueError(f"device must be available on this machine, such as 'cpu', got {device!r}") from error

    def _join(self, unary: nn.Module, interaction: nn.Module | None = None) -> FactorModel:
        if isinstance(unary, BatchModel):
            return BatchModel(unary.unary, self.n_labels_)
        return FactorModel(unary, interaction, self.n_labels_)

    def _description(self) -> dict[str, Any]:
        parts = zip(("unary", "interaction"), self._networks(), strict=True)
        described = [(name, part.get_params()) for name, part in parts if isinstance(part, Network)]
        return {f"{name}__{inner}": to_json(value) for name, known in described for inner, value in known.items()}

    def _check_description(self) -> None:
        """Refuse parameters that have come to describe other factors than those of `model_`."""
        now, then = self._description(), self._described
        changed = [name for name in {**then, **now} if now.get(name) != then.get(name)]
        if changed:
            raise ValueError(
                f"the fitted factors have a different {' and '.join(changed)}: set it back, or fit a clone"
            )


def _as_networks(*factors: Described | None) -> tuple[Network | None, ...]:
    for described in factors:
        if isinstance(described, nn.Module):
            raise ValueError("graphs with node_types need a Network or hidden units for a factor, or a BatchModel")
    return factors  # type: ignore[return-value]


def _build_typed(
    types: NodeTypes, factors: tuple[Network | None, ...], widths: tuple[int, int], generator: torch.Generator
) -> TypedModel:
    """A factor of its own for every type and for every pair of types."""
    unary, interaction = factors
    assert unary is not None
    tables = {} if interaction is None else _by_pair(interaction, types)
    return TypedModel(
        [unary.build(widths[0], n_labels, 1, generator) for n_labels in types.n_labels],
        {pair: _build_table(network, widths[1], types, pair, generator) for pair, network in tables.items()},
        types.n_labels,
    )


def _by_pair(network: Network, types: NodeTypes) -> dict[tuple[int, int], Network]:
    """The network of every pair of types, with the signs of its own where they are given by pair."""
    if network.sign is None:
        return dict.fromkeys(types.pairs, network)
    if not isinstance(network.sign, Mapping) or not set(network.sign) <= set(types.pairs):
        expected = f"a dict with some of the keys {list(types.pairs)}, as X has node_types"
        raise ValueError(f"sign must be {expected}, got {network.sign!r}")
    return {pair: clone(network).set_params(sign=network.sign.get(pair)) for pair in types.pairs}


def _build_table(
    network: Network, n_features: int, types: NodeTypes, pair: tuple[int, int], generator: torch.Generator
) -> nn.Module:
    """The interaction of edges between nodes of two types, or of one and the same."""
    rows, columns = (types.n_labels[kind] for kind in pair)
    if pair[0] == pair[1]:
        return network.build(n_features, rows, 2, generator)
    free: Network = clone(network).set_params(symmetric=False)  # nodes of two types cannot change places
    if free.sign is not None:
        n_tables = n_features + (free.bias or not n_features)
        signs = check_signs("sign", free.sign, (rows, columns), np.zeros(n_tables, np.int8))  # type: ignore[arg-type]
        free.set_params(sign=signs.reshape(n_tables, -1))
    return free.build(n_features, rows * columns, 1, generator)


def _build(described: Described, generator: torch.Generator, n_features: int, n_labels: int, order: int) -> nn.Module:
    if isinstance(described, nn.Module):
        return deepcopy(described)
    return described.build(n_features, n_labels, order, generator)
