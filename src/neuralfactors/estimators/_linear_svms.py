"""CuttingPlaneSVM and FrankWolfeSVM: linear factors, a convex objective, and a duality gap that says when to stop."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self, TypeVar

import torch
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors._core.factors import Network
from neuralfactors._core.graph import Graph
from neuralfactors.estimators._base import Described, StructuredEstimator
from neuralfactors.estimators._checkpoint import find_checkpoint
from neuralfactors.estimators._parts import Parts, or_default
from neuralfactors.learning._auto_parameters import auto_C
from neuralfactors.learning._convex_run import ConvexRun
from neuralfactors.learning._cutting_plane import n_slack, one_slack
from neuralfactors.learning._decode import Decoder
from neuralfactors.learning._frank_wolfe import block_frank_wolfe
from neuralfactors.learning._history import Callback, ProgressBar, closing
from neuralfactors.learning._linear_passes import LinearProblem
from neuralfactors.learning._losses import (
    AUTO,
    check_class_weight,
    check_count,
    check_option,
    check_positive,
)
from neuralfactors.learning._training_graphs import ClassWeight, Samples
from neuralfactors.learning._training_warnings import (
    warn_of_dropped_edges,
    warn_of_little_learnt,
    warn_of_scales,
)
from neuralfactors.learning._warm_start import KeptBlocks, KeptLabellings

Kept = TypeVar("Kept", KeptBlocks, KeptLabellings)


@dataclass(eq=False, repr=False)
class ConvexEstimator(StructuredEstimator):
    """Base of estimators with linear factors that minimise Eq. (6) of the paper to a stated duality gap."""

    C: float | str = AUTO
    _: KW_ONLY
    tol: float = 1e-2
    max_iter: int = 200
    bias: bool = True
    symmetric: bool | Sequence[int] = False
    interaction_sign: ArrayLike | Mapping[tuple[int, int], ArrayLike] | None = None
    warm_start: bool = False
    class_weight: ClassWeight = None
    decoder: Decoder | None = None

    _parts: ClassVar[Parts] = {"decoder": or_default(Decoder)}
    _fitted = (*StructuredEstimator._fitted, "C_", "objective_", "converged_")

    def fit(self, X: Sequence[Graph], Y: Sequence[ArrayLike], sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled graphs until the duality gap is small enough.

        Parameters
        ----------
        X : sequence of Graph
            The samples, with the same numbers of features.
        Y : sequence of arrays of shape (V,)
            Labels, one per node, as in `StructuralSVM`; void nodes and their edges are left out.
        sample_weight : array of shape (N,), default=None
            By which the hinge of every graph is multiplied; None: 1.

        Returns
        -------
        self
            The fitted estimator; a ConvergenceWarning says where `tol` was not reached.
        """
        check_positive("C", self.C)
        check_count("max_iter", self.max_iter)
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, got {self.tol}")
        if find_checkpoint(self.callbacks):
            raise ValueError(f"{type(self).__name__} cannot be resumed: callbacks must not contain a Checkpoint")
        samples = Samples.check(X, Y, self.n_labels, sample_weight=sample_weight)
        warn_of_scales(samples)
        warn_of_dropped_edges(samples, 'StructuralSVM((), ()) labels them by inference, void="complete"')
        self.__dict__.pop("model_", None)  # a fit that ends too soon leaves none, with figures of the last one
        self._take_sizes(samples)
        self.C_ = auto_C(samples) if self.C == AUTO else float(self.C)
        class_weight = samples.class_weight(self.class_weight)
        check_class_weight(class_weight)
        model = self._build_model(torch.Generator().manual_seed(0)).requires_grad_(False)
        callbacks = list(self.callbacks or ()) + ([ProgressBar(self.max_iter, "all factors")] if self.verbose else [])
        with closing(callbacks):
            problem = LinearProblem(samples, model, self._decoder(), class_weight, self.interaction_sign)
            run = self._run(problem, callbacks)
        self.model_, self.history_, self.objective_, self.converged_ = model, run.history, run.best, run.converged
        if not (run.converged or run.told_to_stop):
            warnings.warn(self._shortfall(run), ConvergenceWarning, stacklevel=2)
        elif run.converged:  # whoever stops it knows
            warn_of_little_learnt(samples, self.class_weight, run.history[-1]["hinge"])
        return self

    def _networks(self) -> tuple[Described, Described | None]:
        # True becomes a sequence, as the kernel's regulariser counts whole tables.
        symmetric = (1,) * self.n_edge_features_ if self.symmetric is True else self.symmetric
        return Network((), bias=self.bias), Network((), bias=self.bias, symmetric=symmetric)

    def _place(self) -> tuple[str, str]:
        return "cpu", "float64"  # the gap is a small difference of large numbers

    def _shortfall(self, run: ConvexRun) -> str:
        """What keeps the run from its `tol`, in a sentence."""
        name, share = type(self).__name__, f"the share tol={self.tol} of its objective {run.best:.6g}"
        if run.held_up:
            return (
                f"{name} cannot prove {share}: inference leaves {run.unproved:.3g} unproved, so the objective may be "
                f"too low by that much: lower decoder__tol, or use a more exact method than {self._decoder().method!r}"
            )
        return (
            f"{name} stopped at max_iter={self.max_iter} with a duality gap of {run.duality_gap:.3g}, "
            f"more than {share}: raise max_iter or tol"
        )

    def _kept(self, kind: type[Kept]) -> Kept | None:
        """Where the constraints of the last fit are, and those of this one go; None without a warm start."""
        last = self.__dict__.pop("_constraints", None)
        if not self.warm_start:
            return None
        kept: Kept = last if isinstance(last, kind) else kind()
        self._constraints: KeptBlocks | KeptLabellings = kept
        return kept

    def _run(self, problem: LinearProblem, callbacks: Sequence[Callback]) -> ConvexRun:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class CuttingPlaneSVM(ConvexEstimator):
    """Structural SVM with linear factors, trained by cutting planes.

    Minimises the same objective as `StructuralSVM` with `()` hidden units: ½‖w‖² + C/N Σₙ hinge.

    Parameters
    ----------
    C : float or "auto", default="auto"
        λ in the paper. "auto": N/4, or more where graphs have fewer than four labelled nodes; see `StructuralSVM`.
    n_labels : int, sequence of int or None, default=None
        None: the highest label in Y plus 1. A sequence for graphs with `node_types`, one number per type.
    callbacks : sequence of callable or None, default=None
        As in `StructuralSVM`, but there are no checkpoints.
    verbose : int, default=0
        1 shows a progress bar.
    tol : float, default=1e-2
        Stop when the duality gap is at most this share of the objective.
    max_iter : int, default=200
        Passes of inference over the data; when they are over before `tol` is reached, a ConvergenceWarning says so. It
        also says when inference is too rough to prove `tol`; training then ends where it sees nothing left to gain.
    bias : bool, default=True
        As in `Network`.
    symmetric : bool or sequence of int, default=False
        Whether the tables of edges must be symmetric; or, for every edge feature, 1 if its table must be, −1 if it must
        be antisymmetric, and 0 if it may be any. The bias is symmetric unless a feature is free. The regulariser counts
        whole tables.
    interaction_sign : array of shape (L, L) or (T, L, L), dict or None, default=None
        Signs that the weights of edges must have: 1 for weights ≥ 0, −1 for weights ≤ 0, 0 for any. (L, L) holds for
        the tables of all edge features and the bias; (T, L, L) has one for each of them, the bias last. With
        ``2 * np.eye(L) - 1`` and no negative features, equal labels attract, and binary labels are submodular. For
        graphs with `node_types`, a dict from some of the pairs of types to such arrays.
    warm_start : bool, default=False
        Whether `fit` begins with the constraints that the last one found, and their weights. Parameters such as `C` and
        data may differ: what the constraints are worth is computed anew. Graphs are matched by their place in X;
        those with another number of nodes start afresh. Files do not hold constraints.
    class_weight : None, "balanced", dict or array of shape (L,) or (L, L), default=None
        What a wrong node costs by its true class, or by its true class (row) and the predicted one (column).
    decoder : Decoder or None, default=None
        How to do inference. None: `Decoder()`.
    slack : "n" or "1", default="n"
        "n": one slack variable a graph, constraints generated lazily, as the paper's CP; "1": one for all of them.
    cache_size : int, default=10
        Labellings kept per graph with `slack="1"`, from which constraints are taken before inference is asked again.

    Attributes
    ----------
    C_ : float
        The value used, whatever "auto" stands for.
    objective_ : float
        The best value of the objective, whose weights are kept; with approximate inference, as low as it sees it.
    converged_ : bool
        Whether `tol` was reached, which is proved: what inference may have missed counts in the duality gap.
    history_ : list of dict
        A record a pass: objective, dual, duality_gap, hinge, gap, optimal, differing, constraints, seconds. The
        duality_gap is that of the best weights so far; None where inference gives no bound.

    Examples
    --------
    >>> X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-1.0], [1.0]], [[0, 1]])]
    >>> svm = CuttingPlaneSVM(C=10.0).fit(X, [[1, 0], [0, 1]])
    >>> svm.converged_, svm.score(X, [[1, 0], [0, 1]])
    (True, 1.0)
    """

    _: KW_ONLY
    slack: str = "n"
    cache_size: int = 10

    def _run(self, problem: LinearProblem, callbacks: Sequence[Callback]) -> ConvexRun:
        check_option("slack", self.slack, ("n", "1"))
        check_count("cache_size", self.cache_size, least=0)
        if self.slack == "n":
            return n_slack(problem, self.C_, self.tol, self.max_iter, callbacks, self._kept(KeptBlocks))
        kept = self._kept(KeptLabellings)
        return one_slack(problem, self.C_, self.tol, self.max_iter, self.cache_size, callbacks, kept)


@dataclass(eq=False, repr=False)
class FrankWolfeSVM(ConvexEstimator):
    """Structural SVM with linear factors, trained by block-coordinate Frank-Wolfe steps with exact line search.

    Minimises the same objective as `StructuralSVM` with `()` hidden units: ½‖w‖² + C/N Σₙ hinge.

    Parameters
    ----------
    C : float or "auto", default="auto"
        As in `CuttingPlaneSVM`.
    n_labels : int, sequence of int or None, default=None
        None: the highest label in Y plus 1. A sequence for graphs with `node_types`, one number per type.
    callbacks : sequence of callable or None, default=None
        As in `StructuralSVM`, but there are no checkpoints.
    verbose : int, default=0
        1 shows a progress bar.
    tol : float, default=1e-2
        Stop when the duality gap is at most this share of the objective.
    max_iter : int, default=1000
        Passes over the data, as in `CuttingPlaneSVM`. A pass over few graphs does little, so that they need many.
    bias : bool, default=True
        As in `Network`.
    symmetric : bool or sequence of int, default=False
        As in `CuttingPlaneSVM`.
    interaction_sign : array of shape (L, L) or (T, L, L), dict or None, default=None
        As in `CuttingPlaneSVM`.
    warm_start : bool, default=False
        As in `CuttingPlaneSVM`.
    class_weight : None, "balanced", dict or array of shape (L,) or (L, L), default=None
        What a wrong node costs by its true class, or by its true class (row) and the predicted one (column).
    decoder : Decoder or None, default=None
        How to do inference. None: `Decoder()`.
    check_every : int, default=5
        Passes between two that certify the gap.
    corrective : bool, default=True
        Whether a step gives all constraints found for its graph their best weights; False: the classical step, which
        moves towards the new one only.
    random_state : int, RandomState, Generator or None, default=0
        Of the order of the graphs.

    Attributes
    ----------
    C_ : float
        The value used, whatever "auto" stands for.
    objective_ : float
        The best value of the objective, as in `CuttingPlaneSVM`.
    converged_ : bool
        Whether `tol` was reached, as in `CuttingPlaneSVM`.
    history_ : list of dict
        A record every `check_every` passes, and of the last one; `epoch` is the pass, 0 at a warm start. Its entries
        are those of `CuttingPlaneSVM`.

    Examples
    --------
    >>> X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-1.0], [1.0]], [[0, 1]])]
    >>> FrankWolfeSVM(C=10.0).fit(X, [[1, 0], [0, 1]]).score(X, [[1, 0], [0, 1]])
    1.0
    """

    _: KW_ONLY
    max_iter: int = 1000
    check_every: int = 5
    corrective: bool = True
    random_state: RandomState = 0

    def _run(self, problem: LinearProblem, callbacks: Sequence[Callback]) -> ConvexRun:
        check_count("check_every", self.check_every)
        seed = seed_of(self.random_state)
        options = (self.max_iter, seed, self.check_every, self.corrective)
        return block_frank_wolfe(problem, self.C_, self.tol, *options, callbacks, self._kept(KeptBlocks))
