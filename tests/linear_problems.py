"""Small problems with linear factors, and every labelling of their samples, for learners that know their dual."""

import numpy as np
import torch
from oracles import labelings

from neuralfactors.factor_model import FactorModel
from neuralfactors.factors import Network
from neuralfactors.graph import Graph
from neuralfactors.learning.decode import Decoder
from neuralfactors.learning.linear import LinearProblem
from neuralfactors.learning.samples import Samples


def linear_problem(seed, n_graphs=4, n_labels=3, *, weights=False, void=False, bias=True, decoder="exhaustive"):
    """A problem of random graphs of one to three nodes, the last of them without edges."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for g in range(n_graphs):
        n = int(rng.integers(1, 4))
        pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.7 and g < n_graphs - 1]
        edges = np.array(pairs, np.int64).reshape(-1, 2)
        node_weight = rng.random(n) + 0.1 if weights else None
        X.append(Graph(rng.normal(size=(n, 2)), edges, rng.normal(size=(len(edges), 2)), node_weight=node_weight))
        y = rng.integers(n_labels, size=n)
        Y.append(np.where(rng.random(n) < 0.2, -1, y) if void and g else y)
    samples = Samples.check(X, Y, n_labels)
    widths = enumerate((samples.n_node_features, samples.n_edge_features), 1)
    unary, interaction = (Network(bias=bias).build(width, n_labels, q, torch.Generator()) for q, width in widths)
    class_weight = rng.random(n_labels) + 0.5 if weights else None
    return LinearProblem(samples, FactorModel(unary, interaction, n_labels).double(), Decoder(decoder), class_weight)


def every_labelling(problem, n):
    """All labellings (K, V) of sample n."""
    return torch.stack(list(labelings(len(problem.sample(n).y), problem.model.n_labels))).numpy()


def psi(problem, n, z):
    """ψ(z) = φ(x, y) − φ(x, z) of sample n."""
    vector = np.zeros_like(problem.w)
    problem.add_(vector, problem.sample(n), np.asarray(z)[None], np.ones(1))
    return vector


def hinge(problem, n):
    """max_z Δ(y, z) − ⟨ψ(z), w⟩ of sample n, over every labelling."""
    sample, Z = problem.sample(n), every_labelling(problem, n)
    return float((problem.losses(sample, Z) - problem.products(sample, Z, problem.w)).max())


def objective(problem, C):
    """½‖w‖² + C/N Σ hinge."""
    return 0.5 * problem.w @ problem.w + C * sum(hinge(problem, n) for n in range(len(problem))) / len(problem)
