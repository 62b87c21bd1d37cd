"""StructuredPerceptron: no margin, no regulariser, averaged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from neuralfactors.estimators._gradient_learner import JointEstimator, Objective
from neuralfactors.estimators._parts import Parts, or_default
from neuralfactors.learning._subgradient import Subgradient


@dataclass(eq=False, repr=False)
class StructuredPerceptron(JointEstimator):
    """Averaged structured perceptron: w ← w + μ (φ(x, y) − φ(x, z)) wherever the prediction z errs.

    Without a margin there is nothing for weights to scale: there is no `class_weight`, and the `node_weight` of graphs
    counts in `score` only.

    Parameters
    ----------
    unary : sequence of int, Network or nn.Module, default=()
        As in `StructuralSVM`, but linear unless something else is said.
    interaction : sequence of int, Network or nn.Module, default=()
        The same for edges.
    n_labels : int, sequence of int or None, default=None
        Number of labels; a sequence for graphs with `node_types`, one number per type. None: the highest in Y plus 1.
        Every type of nodes gets a unary factor of its own, and every pair of types that edges join an interaction.
    callbacks : sequence of callable or None, default=None
        As in `StructuralSVM`.
    verbose : int, default=0
        1 shows a progress bar.
    max_iter : int or "auto", default="auto"
        Passes over the data, as in `StructuralSVM`.
    batch_size : int, "auto" or None, default="auto"
        Graphs a step, as in `StructuralSVM`.
    trainer : Subgradient or None, default=None
        How to train. None: ``Subgradient(optimizer="sgd", learning_rate=1.0, momentum=0.0, schedule="constant",
        keep="last", averaging="uniform")``.
    warm_start : bool, default=False
        Whether `fit` begins with the parameters of the last one.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the factors and of the order of the graphs.
    void : "drop" or "complete", default="drop"
        As in `StructuralSVM`; completions gain a perceptron little, as its first are chance.
    decoder : Decoder or None, default=None
        How to do inference. None: `Decoder()`.

    Examples
    --------
    >>> from neuralfactors import Graph
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
