"""What all estimators share: checked data in, labels out, a score, files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from neuralfactors.estimators.files import from_document, to_document, to_json
from neuralfactors.estimators.parts import Composed
from neuralfactors.factor_model import BatchModel, FactorModel
from neuralfactors.factors import Network
from neuralfactors.files import FileFormatError
from neuralfactors.graph import Graph, check_agreement, check_labels
from neuralfactors.graph_batch import GraphBatch
from neuralfactors.labels import VOID
from neuralfactors.learning.decode import Decoder, clamp_labelled, node_scores
from neuralfactors.learning.history import Callback
from neuralfactors.learning.losses import check_part
from neuralfactors.learning.samples import Samples, check_pairs, check_sequence, check_void_mark, has_edges
from neuralfactors.persistence import load_model, readable, save_model
from neuralfactors.potentials import Potentials

Described = Network | nn.Module  # a factor that is to be built, or to be copied
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredEstimator(Composed):
    """Base of estimators whose fitted state is a `FactorModel`: prediction, score and files.

    A subclass fills `model_`, `n_labels_`, `n_node_features_`, `n_edge_features_`, `order_` and `history_` in `fit`.

    Parameters
    ----------
    n_labels : int or None, default=None
        None: the highest label in Y plus 1.
    callbacks : sequence of callable or None, default=None
        Each gets the record of every epoch; one that returns True ends the training.
    verbose : int, default=0
        1 shows a progress bar.
    """

    n_labels: int | None = None
    callbacks: Sequence[Callback] | None = None
    verbose: int = 0

    # What files hold of the fitted state besides the model and its history.
    _fitted: ClassVar[tuple[str, ...]] = ("n_labels_", "n_node_features_", "n_edge_features_", "order_")
    _registry: ClassVar[dict[str, type[StructuredEstimator]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        StructuredEstimator._registry[cls.__name__] = cls

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def predict(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None) -> list[NDArray[np.int64]]:
        """The labelling of highest score that inference finds, for every graph.

        Parameters
        ----------
        X : sequence of Graph
            With the numbers of features that the estimator was fitted with.
        known : sequence of arrays of int, default=None
            Labels that are given, one array per graph, −1 where there is none: they are kept, and the others are those
            that go best with them.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, int64, one array per graph.
        """
        predictions: list[NDArray[np.int64]] = []
        given = self._check_known(X, known)
        for batch in self._batches(X):
            potentials = self._potentials(batch)
            if given is not None:
                y = np.concatenate(given[len(predictions) : len(predictions) + batch.n_graphs])
                potentials = clamp_labelled(potentials, torch.from_numpy(y).to(potentials.unary.device))
            predictions += np.split(self.decode(potentials), batch.node_ptr[1:-1].numpy())
        return predictions

    def decode(self, potentials: Potentials) -> NDArray[np.int64]:
        """Labels that the decoder finds to score highest.

        Parameters
        ----------
        potentials : Potentials
            Such as those of `potentials`, of one graph or of a batch.

        Returns
        -------
        ndarray of shape (V,)
            int64.
        """
        labels: NDArray[np.int64] = self._decoder()(potentials).labels.cpu().numpy()
        return labels

    def decision_function(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        """What speaks for every label of every node, all factors considered.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.

        Returns
        -------
        list of ndarray of shape (V, L)
            An array per graph. Entry (i, a) is how far the best labelling that gives node i label a stays below the
            best of all: exact on forests, at least that far (a bound) on graphs with cycles. There the argmax of each
            row need not be what `predict` returns, which is one joint labelling.

        See Also
        --------
        potentials : Scores of nodes and edges, before any inference.
        """
        found: list[NDArray[np.floating[Any]]] = []
        for batch in self._batches(X):
            found += np.split(node_scores(self._potentials(batch)), batch.node_ptr[1:-1].numpy())
        return found

    def potentials(self, X: Sequence[Graph]) -> list[Potentials]:
        """Scores of nodes and edges, whose joint maximum `predict` looks for.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.

        Returns
        -------
        list of Potentials
            One per graph.
        """
        found = []
        for batch in self._batches(X):
            whole = self._potentials(batch)
            node_ptr, edge_ptr = whole.node_ptr.tolist(), whole.edge_ptr.tolist()
            for g in range(batch.n_graphs):
                nodes, edges = slice(node_ptr[g], node_ptr[g + 1]), slice(edge_ptr[g], edge_ptr[g + 1])
                ends = whole.edges[edges] - node_ptr[g]
                tables = whole.interaction if whole.shared else whole.interaction[edges]
                found.append(Potentials(whole.unary[nodes].clone(), tables.clone(), ends))
        return found

    def score(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> float:
        """Share of the labelled nodes that are predicted right, by their weight where graphs have `node_weight`.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.
        Y : sequence of arrays of shape (V,)
            True labels of every graph; −1 is void and not counted.

        Returns
        -------
        float
            From 0 to 1; NaN where no node is labelled.
        """
        X, Y = check_pairs(X, Y)
        labels, right, total = [], 0.0, 0.0
        for n, y_pred in enumerate(self.predict(X)):
            y, weight = check_labels(Y[n], X[n].n_nodes, f"Y[{n}]"), X[n].node_weight
            counted = (y >= 0) if weight is None else np.where(y >= 0, weight, 0.0)
            right += float((counted * (y_pred == y)).sum())
            total += float(counted.sum())
            labels.append(y)
        check_void_mark(labels, self.n_labels_)
        return right / total if total else float("nan")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into a folder: JSON and safetensors; no code.

        Parameters
        ----------
        path : path
            The folder, made if need be. A model that it holds already is replaced in one step.
        """
        save_model(path, *self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """The estimator that `save` wrote.

        Parameters
        ----------
        path : path
            The folder.
        **parameters
            Replace those in the file, by names such as `trainer__device`. A module or function that was given to the
            estimator is not in the file and must be given again.

        Returns
        -------
        StructuredEstimator
            Of the class that was saved. `neuralfactors.estimators.load` accepts any; that of a class refuses others.

        Raises
        ------
        FileFormatError
            If the folder holds no such model, or a broken one.
        """
        document, tensors = load_model(path)
        with readable(path):
            return cls.from_state(document, tensors, path, **parameters)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What a file needs to hold of the fitted estimator.

        Returns
        -------
        document : dict
            Class, parameters, fitted numbers and history, as JSON can hold them.
        tensors : dict of str to Tensor
            Parameters of the factors, by name.
        """
        check_is_fitted(self, "model_")
        self._check_description()
        parameters, omitted = to_document(self.plain_params())
        fitted = {name: to_json(getattr(self, name)) for name in self._fitted if hasattr(self, name)}
        document = {"class": type(self).__name__, "parameters": parameters, "omitted": omitted, "fitted": fitted}
        return {**document, "history": self.history_}, self.model_.state_dict()

    @classmethod
    def from_state(
        cls, document: Mapping[str, Any], tensors: Mapping[str, Tensor], path: str | os.PathLike[str], **parameters: Any
    ) -> Self:
        """The estimator that `state` came from.

        Parameters
        ----------
        document : mapping
            As `state` returns it.
        tensors : mapping of str to Tensor
            As `state` returns them.
        path : path
            Where they were read from, for errors.
        **parameters
            As in `load`.

        Returns
        -------
        StructuredEstimator
            Of the class that the document names.
        """
        kind = cls._registry.get(document.get("class", ""))
        if kind is None or not issubclass(kind, cls):
            raise FileFormatError(f"{path} contains a {document.get('class')!r}, not a {cls.__name__}")
        estimator = kind()
        from_document(estimator, document, path, parameters)
        for name in kind._fitted:
            if name in document["fitted"]:
                setattr(estimator, name, document["fitted"][name])
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

    def _check_known(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None) -> list[NDArray[np.int64]] | None:
        if known is None:
            return None
        check_is_fitted(self, "model_")
        X, known = check_pairs(X, known)
        given = [check_labels(known[n], X[n].n_nodes, f"known[{n}]") for n in range(len(X))]
        highest = max((int(y.max()) for y in given if y.size), default=VOID)
        if highest >= self.n_labels_:
            raise ValueError(f"known must hold labels below {self.n_labels_}, got {highest}")
        return given

    def _take_sizes(self, samples: Samples) -> None:
        self.n_labels_ = int(samples.n_labels)
        self.n_node_features_ = samples.n_node_features
        self.n_edge_features_ = samples.n_edge_features
        self.order_ = samples.order

    def _networks(self) -> tuple[Described, Described | None]:
        """What the unary and the interaction factor are to be."""
        raise NotImplementedError

    def _place(self) -> tuple[str, str]:
        """Device and type of the model's numbers."""
        raise NotImplementedError

    def _build_model(self, generator: torch.Generator) -> FactorModel:
        """A model with fresh parameters, drawn from `generator`."""
        unary, interaction = self._networks()
        factors = [_build(unary, generator, self.n_node_features_, self.n_labels_, 1)]
        if interaction is not None:
            factors.append(_build(interaction, generator, self.n_edge_features_, self.n_labels_, self.order_))
        model = self._join(*factors)
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

    def _decoder(self) -> Decoder:
        return check_part("decoder", self.part("decoder"), Decoder)

    def _batches(self, X: Sequence[Graph]) -> Iterator[GraphBatch]:
        check_is_fitted(self, "model_")
        if isinstance(X, Graph):
            raise ValueError("X must be a list of graphs, got a Graph: wrap it in a list")
        X = check_sequence("X", X)
        if not len(X):
            return
        widths = check_agreement(X[n] for n in range(len(X)))
        self._check_widths(widths, has_edges(X))
        empty = [np.zeros(0, dtype=np.int64)] * len(X)
        samples = Samples(X, empty, self.n_labels_, *widths)
        reference = next(self.model_.parameters(), torch.zeros(()))
        for chunk in samples.chunks(range(len(X))):
            yield GraphBatch.from_graphs([X[n] for n in chunk], reference.dtype).to(reference.device)

    def _check_widths(self, widths: tuple[int, int, int], with_edges: bool) -> None:
        names = ("node features", "edge features", "nodes in an edge")
        fitted = (self.n_node_features_, self.n_edge_features_, self.order_)
        for k, (name, got, expected) in enumerate(zip(names, widths, fitted, strict=True)):
            if got != expected and (k == 0 or with_edges):
                raise ValueError(f"X has {got} {name}, but {type(self).__name__} was fitted with {expected}")

    @torch.no_grad()
    def _potentials(self, batch: GraphBatch) -> Potentials:
        potentials: Potentials = self.model_(batch)
        return potentials


def _build(described: Described, generator: torch.Generator, n_features: int, n_labels: int, order: int) -> nn.Module:
    if isinstance(described, nn.Module):
        return deepcopy(described)
    return described.build(n_features, n_labels, order, generator)
