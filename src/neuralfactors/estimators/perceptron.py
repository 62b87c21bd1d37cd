"""StructuredPerceptron: no margin, no regulariser, averaged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from neuralfactors.estimators.gradient import JointEstimator, Objective
from neuralfactors.estimators.parts import Parts, or_default
from neuralfactors.learning.subgradient import Subgradient


@dataclass(eq=False, repr=False)
class StructuredPerceptron(JointEstimator):
    """Averaged structured perceptron: w ← w + μ (φ(x, y) − φ(x, z)) wherever the prediction z errs.

    Without a margin there is nothing for weights to scale: there is no `class_weight`, and the `node_weight` of graphs
    counts in `score` only.

    Parameters
    ----------
    unary, interaction : sequence of int, Network or nn.Module, default=()
        As in `StructuralSVM`, but linear unless something else is said.
    n_labels, callbacks, verbose, max_iter, batch_size, warm_start, random_state, decoder
        As in `StructuralSVM`, with the same defaults.
    trainer : Subgradient or None, default=None
        How to train. None: ``Subgradient(optimizer="sgd", learning_rate=1.0, momentum=0.0, schedule="constant",
        keep="last", averaging="uniform")``.
    void : "drop" or "complete", default="drop"
        As in `StructuralSVM`; completions gain a perceptron little, as its first are chance.

    Examples
    --------
    >>> from neuralfactors.graph import Graph
    >>> X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-1.0], [1.0]], [[0, 1]])]
    >>> StructuredPerceptron().fit(X, [[1, 0], [0, 1]]).score(X, [[1, 0], [0, 1]])
    1.0
    """

    _parts: ClassVar[Parts] = {
        **JointEstimator._parts,
        "trainer": or_default(
            partial(
                Subgradient, optimizer="sgd", learning_rate=1.0, momentum=0.0, schedule="constant", keep="last",
                averaging="uniform",
            )
        ),
    }  # fmt: skip

    def _objective(self) -> Objective:
        return Objective("perceptron", (1.0, 1.0), None, self.void)
