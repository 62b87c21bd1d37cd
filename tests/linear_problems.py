"""Small problems with linear factors, and every labelling of their samples, for learners that know their dual."""

import numpy as np
import torch
from oracles import labelings
from scipy.optimize import minimize

from neuralfactors import FactorModel, Graph, Network
from neuralfactors.learning import Decoder
from neuralfactors.learning._linear_passes import LinearProblem
from neuralfactors.learning._training_graphs import Samples

N_LABELS = 3


def linear_problem(seed, n_graphs=4, *, weights=False, void=False, bias=True, decoder="exhaustive"):
    """A problem of random graphs of one to three nodes, the last of them without edges."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for g in range(n_graphs):
        n = int(rng.integers(1, 4))
        pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.7 and g < n_graphs - 1]
        edges = np.array(pairs, np.int64).reshape(-1, 2)
        node_weight = rng.random(n) + 0.1 if weights else None
        X.append(Graph(rng.normal(size=(n, 2)), edges, rng.normal(size=(len(edges), 2)), node_weight=node_weight))
        y = rng.integers(N_LABELS, size=n)
        Y.append(np.where(rng.random(n) < 0.2, -1, y) if void and g else y)
    samples = Samples.check(X, Y, N_LABELS)
    widths = enumerate((samples.n_node_features, samples.n_edge_features), 1)
    unary, interaction = (Network(bias=bias).build(width, N_LABELS, q, torch.Generator()) for q, width in widths)
    class_weight = rng.random(N_LABELS) + 0.5 if weights else None
    model = FactorModel(unary, interaction, N_LABELS).double().requires_grad_(False)
    problem = LinearProblem(samples, model, Decoder(decoder), class_weight)
    problem.samples, problem.model, problem.class_weight = samples, model, class_weight
    return problem


def every_labelling(problem, n):
    """All labellings (K, V) of sample n."""
    return torch.stack(list(labelings(len(problem.samples.labelled(n)[1]), N_LABELS))).numpy()


def phi(problem, graph, y):
    """φ(x, y), each part as (features, outputs) and then its biases, as `w` has them."""
    parts = problem.model.unary, problem.model.interaction
    nodes, edges = (np.zeros((part.weight.shape[1], len(part.weight))) for part in parts)
    for features, label in zip(graph.node_features, y, strict=True):
        nodes[:, label] += features
    joint = [N_LABELS * y[i] + y[j] for i, j in graph.edges]
    for features, label in zip(graph.edge_features, joint, strict=True):
        edges[:, label] += features
    biases = np.bincount(y, minlength=N_LABELS), np.bincount(np.array(joint, np.int64), minlength=N_LABELS**2)
    pairs = zip((nodes, edges), biases, parts, strict=True)
    return np.concatenate([a for w, b, part in pairs for a in (w.ravel(), *([] if part.bias is None else [b]))])


def psi(problem, n, z):
    """ψ(z) = φ(x, y) − φ(x, z) of sample n."""
    graph, y = problem.samples.labelled(n)
    return phi(problem, graph, y) - phi(problem, graph, z)


def loss(problem, n, z):
    """Δ(y, z) of sample n."""
    graph, y = problem.samples.labelled(n)
    costs = np.ones(len(y)) if problem.class_weight is None else problem.class_weight[y]
    return float((costs * (1.0 if graph.node_weight is None else graph.node_weight) * (y != z)).sum())


def violation(problem, n, z):
    """Δ(y, z) − ⟨ψ(z), w⟩ of sample n."""
    return loss(problem, n, z) - float(psi(problem, n, z) @ problem.w)


def hinge(problem, n):
    """The highest violation of sample n, over every labelling."""
    return max(violation(problem, n, z) for z in every_labelling(problem, n))


def objective(problem, C):
    """½‖w‖² + C/N Σ hinge."""
    return 0.5 * problem.w @ problem.w + C * sum(hinge(problem, n) for n in range(len(problem))) / len(problem)


def solve_primal(blocks, C, sign=None):
    """Weights and least objective by scipy, from ψ (K, dim) and Δ (K,) of every labelling of every sample.

    Weights have the given signs, where 0 means any.
    """
    n_samples, dim = len(blocks), blocks[0][0].shape[1]
    rows = [np.hstack([psi, np.outer(np.ones(len(psi)), np.eye(n_samples)[n])]) for n, (psi, _) in enumerate(blocks)]
    rows, losses = np.concatenate(rows), np.concatenate([loss for _, loss in blocks])
    scale = np.concatenate([np.ones(dim), np.zeros(n_samples)])
    slope = np.concatenate([np.zeros(dim), np.full(n_samples, C / n_samples)])
    sign = np.zeros(dim) if sign is None else sign
    bounds = [(0 if s > 0 else None, 0 if s < 0 else None) for s in sign] + [(0, None)] * n_samples
    start = np.concatenate([np.zeros(dim), [loss.max() for _, loss in blocks]])
    found = minimize(
        lambda x: 0.5 * (scale * x) @ x + slope @ x, start, jac=lambda x: scale * x + slope, bounds=bounds,
        constraints={"type": "ineq", "fun": lambda x: rows @ x - losses, "jac": lambda _: rows},
        method="SLSQP", options={"maxiter": 1000, "ftol": 1e-12},
    )  # fmt: skip
    assert found.success, found.message
    return found.x[:dim], found.fun


def split(problem, labels):
    """The labels of all samples, one array a sample."""
    return np.split(labels, np.cumsum([len(problem.samples.labelled(n)[1]) for n in range(len(problem))])[:-1])
