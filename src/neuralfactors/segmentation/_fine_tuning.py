"""Fine-tuning: the last blocks of a network of CNN features learn with the factors, by the structured loss of these."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from neuralfactors._core.graph import Graph
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors.estimators import StructuralSVM, StructuredEstimator
from neuralfactors.learning import StructuredHingeLoss
from neuralfactors.learning._descent import seeded, training
from neuralfactors.learning._optimizers import learning_rate_factor, make_optimizer, refuse_divergence
from neuralfactors.segmentation._describer import Describer
from neuralfactors.segmentation._graphs import LabelledGraphs
from neuralfactors.segmentation._targets import TrainingData
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._tuned_backbone import Columns, TrainableColumns, TunedBackbone

logger = logging.getLogger(__name__)


class TunedEpoch(TypedDict):
    """What is known of a pass over the images: the mean loss while it lasted, and how long that was."""

    epoch: int
    hinge: float
    seconds: float


class FineTuning:
    """Trains the last blocks of a network and the factors of a fitted model together.

    The describer of the images stays as it is, and the factors of the model learn on from what it has `learnt` from.
    """

    def __init__(self, describer: Describer, model: StructuralSVM, train: LabelledGraphs, learnt: TrainingData) -> None:
        self.settings, self.descent = describer.builder.settings, model.descent_
        self.network = TunedBackbone.of(self.settings)
        self.factors = model.model_
        self.scaling = [torch.from_numpy(each) for each in vars(describer.scaling).values()]
        self.learnt = learnt
        pairs = zip(train.samples, train.images, strict=True)
        self.columns = [TrainableColumns(self.network, describer.view(s), image, self.settings) for s, image in pairs]
        settings = self.descent.settings
        self.loss = StructuredHingeLoss(
            self.descent.decoder, class_weight=self.descent.class_weight, void=settings.void, reduction="sum"
        )
        # Divided by C, the objective of the factors is the hinge and a decay of 1 / C.
        groups = [{"params": group["params"], "weight_decay": 1 / group["C"]} for group in self.descent.groups]
        self.optimizer = make_optimizer("adam", [*groups, {"params": list(self.network.tail.parameters())}])

    def run(self) -> list[TunedEpoch]:
        """Train; a record of every epoch."""
        history: list[TunedEpoch] = []
        for epoch in range(self.settings.cnn.finetune_epochs):
            start = time.monotonic()
            hinge = self._run_epoch(epoch)
            refuse_divergence([p for group in self.optimizer.param_groups for p in group["params"]])
            history.append({"epoch": epoch + 1, "hinge": hinge, "seconds": time.monotonic() - start})
            logger.info("fine-tuning, epoch %d: mean hinge %.4f, %.0f s", epoch + 1, hinge, history[-1]["seconds"])
        return history

    def _run_epoch(self, epoch: int) -> float:
        """Pass once over all images; returns the mean loss."""
        n, settings = len(self.columns), self.descent.settings
        size = settings.batch_size if isinstance(settings.batch_size, int) else n
        order = np.random.default_rng([settings.seed, epoch]).permutation(n).tolist()
        total = 0.0
        with seeded(settings.seed, epoch), training(self.factors):
            for k in range(0, n, size):
                factor = learning_rate_factor("cosine", 1 + epoch + k / n, 0.0, self.settings.cnn.finetune_epochs)
                total += self._step(order[k : k + size], self.settings.cnn.finetune_rate * factor)
        return total / n

    def _step(self, numbers: Sequence[int], rate: float) -> float:
        """One update from some images; returns the sum of their losses."""
        self.optimizer.zero_grad()
        total = 0.0
        for n in numbers:  # one by one, so that memory does not grow with their number
            loss = self.hinge(n)
            torch.autograd.backward(loss / len(numbers))
            total += loss.item()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return total

    def hinge(self, n: int) -> Tensor:
        """Structured hinge of image `n`, differentiable in blocks and factors."""
        batch = self.batch(self.learnt.X[n], self.columns[n])
        loss: Tensor = self.loss(self.factors(batch), torch.from_numpy(self.learnt.Y[n]), batch.node_weight)
        return loss

    def batch(self, graph: Graph, columns: TrainableColumns) -> GraphBatch:
        """The described `graph` of an image, of which the network as it is now makes `columns` anew."""
        batch = GraphBatch.from_graphs([graph], self.descent.parameters[0].dtype)
        node_mean, node_std, edge_mean, edge_std = self.scaling
        nodes, edges = columns.of(self.network)
        return replace(
            batch,
            node_features=_spliced(batch.node_features, nodes, node_mean, node_std),
            edge_features=_spliced(batch.edge_features, edges, edge_mean, edge_std),
        )


def fine_tune(
    describer: Describer, stages: Sequence[StructuredEstimator], train: LabelledGraphs, learnt: TrainingData
) -> tuple[Describer, list[TunedEpoch]]:
    """A describer whose network has learnt, and the history of that, where its settings want it; else itself.

    The model, the last of the fitted `stages`, learns on with it.
    """
    model = stages[-1]
    if not describer.builder.settings.cnn.finetune or not isinstance(model, StructuralSVM):
        return describer, []
    tuning = FineTuning(describer, model, train, learnt)
    history = tuning.run()
    return with_network(describer, tuning.network), history


def with_network(describer: Describer, network: TunedBackbone) -> Describer:
    """The same describer with a network that has learnt; the one given, which other models share, stays as it is."""
    other = copy(describer)
    other.builder = copy(describer.builder)
    other.builder.backbone = network
    return other


def as_seen(describer: Describer, graphs: LabelledGraphs) -> LabelledGraphs:
    """The graphs of the same images by `describer`: others than before where its network has learnt since."""
    return describer.describe(graphs.samples) if describer.tuned else graphs


def check_tunable(
    settings: FeatureSettings, stages: Sequence[StructuredEstimator], network: nn.Module | None = None
) -> None:
    """Refuse to fine-tune through models that let no gradient pass, or a `network` of the user's own."""
    if not settings.cnn.finetune:
        return
    if len(stages) > 1 or not isinstance(stages[-1], StructuralSVM):
        got = " after ".join(type(stage).__name__ for stage in reversed(stages))
        raise ValueError(f"finetune needs a StructuralSVM that is trained as a whole, got {got}")
    if (device := stages[-1].plain_params()["trainer__device"]) != "cpu":
        raise ValueError(f"finetune runs on the CPU, but the trainer's device is {device!r}")
    if network is not None:
        raise ValueError("finetune works with efficientnet-lite0 to 2 only: leave out the option backbone")


def _spliced(features: Tensor, columns: Columns, mean: Tensor, std: Tensor) -> Tensor:
    """The `features` in which `columns`, scaled, replace those that they stand for."""
    first, last = columns.first, columns.first + columns.values.shape[1]
    if len(mean) > 1:  # else one number scales them all
        mean, std = mean[first:last], std[first:last]
    scaled = ((columns.values - mean) / std).to(features.dtype)
    return torch.cat([features[:, :first], scaled, features[:, last:]], dim=1)
