"""Inference problems of every kind the benchmarks use: learned, network-made, random, chains, trees and grids."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.spatial import Delaunay

REPOSITORY = Path(__file__).resolve().parent.parent
STRENGTHS = {"weak": 0.1, "medium": 0.3, "strong": 1.0}  # deviation of random tables; that of the unaries is 1


@dataclass(frozen=True)
class Instance:
    """One MAP problem; `best_known` and `best_bound` are there where they came with the data."""

    name: str
    unary: NDArray[np.float32]  # (V, L)
    interaction: NDArray[np.float32]  # (E, L, L)
    edges: NDArray[np.int64]  # (E, 2)
    best_known: float = -np.inf
    best_bound: float = np.inf

    @property
    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        return self.unary, self.interaction, self.edges

    @property
    def is_tight(self) -> bool:
        """Whether the bound that came with the data proves the score that came with it."""
        return np.isfinite(self.best_known) and self.best_bound - self.best_known <= 1e-6 * abs(self.best_known)

    def score(self, labels: NDArray[np.integer]) -> float:
        """Score of a labelling, summed in double precision by code that no solver shares."""
        i, j = self.edges.T
        nodes = self.unary[np.arange(len(labels)), labels].sum(dtype=np.float64)
        return float(nodes + self.interaction[np.arange(len(i)), labels[i], labels[j]].sum(dtype=np.float64))

    def digest(self) -> str:
        """Hash of the content, whatever its name."""
        state = hashlib.sha256(repr((self.unary.shape, self.edges.shape)).encode())
        for array in self.arrays:
            state.update(np.ascontiguousarray(array))
        return state.hexdigest()[:24]


def potentials_folder() -> Path | None:
    """Folder of learned potentials below NEURALFACTORS_DATA (default ../shared/data), if there is one."""
    data = Path(os.environ.get("NEURALFACTORS_DATA", REPOSITORY.parent / "shared" / "data"))
    folder = data / "potentials"
    return folder if (folder / "best.json").is_file() else None


def load_learned(folder: Path, n_labels: int) -> list[Instance]:
    """Learned problems of `folder` with `n_labels` labels, with the best scores and bounds known."""
    known = json.loads((folder / "best.json").read_text())
    problems = []
    for path in sorted(folder.glob(f"*_L{n_labels}_*.npz")):
        with np.load(path) as stored:
            unary, interaction = (stored[key].astype(np.float32) for key in ("unary", "interaction"))
            edges = stored["edges"].astype(np.int64)
        record = known[path.name]
        problems.append(Instance(path.stem, unary, interaction, edges, record["best_known"], record["bound"]))
    return problems


def stitch(parts: Sequence[Instance], name: str, rng: Generator, seam: int = 18) -> Instance:
    """One problem of several, stacked like pictures: the last nodes of one border on the first nodes of the next.

    Regions are numbered row by row, so about `seam` of them lie along a border. The edges across it form a strip of
    triangles, and take their tables from edges of the two parts drawn at random.
    """
    starts = np.cumsum([0] + [len(part.unary) for part in parts])
    edges = [part.edges + start for part, start in zip(parts, starts[:-1], strict=True)]
    tables = [part.interaction for part in parts]
    for (above, below), border in zip(pairwise(parts), starts[1:-1], strict=True):
        upper, lower = border - seam + np.arange(seam), border + np.arange(seam)
        across = [np.stack([upper, lower], 1), np.stack([upper[:-1], lower[1:]], 1)]
        pool = np.concatenate([above.interaction, below.interaction])
        edges += across
        tables.append(pool[rng.integers(len(pool), size=2 * seam - 1)])
    unary = np.concatenate([part.unary for part in parts])
    return Instance(name, unary, np.concatenate(tables), np.concatenate(edges))


def stitched(learned: Sequence[Instance], n_problems: int, size: int = 1000) -> list[Instance]:
    """Problems of about `size` nodes, each stitched from learned ones of the same model in random order."""
    rng = np.random.default_rng(0)
    models = sorted({problem.name.rsplit("_", 1)[0] for problem in learned})
    problems = []
    for index in range(n_problems):
        model = models[index % len(models)]
        family = [problem for problem in learned if problem.name.startswith(model + "_")]
        order = rng.permutation(len(family))
        n_nodes = np.cumsum([len(family[k].unary) for k in order])
        count = int(np.argmin(np.abs(n_nodes - size))) + 1
        problems.append(stitch([family[k] for k in order[:count]], f"{model}_stitched_{index}", rng))
    return problems


def planar_graph(n_nodes: int, rng: Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Random points in the unit square, numbered from left to right, and the edges of their Delaunay triangulation."""
    points = rng.random((n_nodes, 2))
    points = points[np.argsort(points[:, 0])]
    corners = Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    return points, np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)


def network(n_nodes: int, n_labels: int, seed: int) -> Instance:
    """Potentials of small random tanh networks on smooth random features of a random planar graph.

    Sizes and strengths follow learned potentials: unaries of deviation 0.5; tables of deviation 0.2, in part common
    to all edges and favouring equal labels, in part made from the features of each edge.
    """
    rng = np.random.default_rng(seed)
    points, edges = planar_graph(n_nodes, rng)

    def smooth(width: int, frequency: float) -> NDArray[np.float64]:
        waves = points @ rng.normal(0, frequency, (2, width)) + rng.uniform(0, 2 * np.pi, width)
        return np.sqrt(2) * np.sin(waves)

    def layers(features: NDArray[np.float64], hidden: int, outputs: int) -> NDArray[np.float64]:
        units = np.tanh(features @ rng.normal(0, features.shape[1] ** -0.5, (features.shape[1], hidden)))
        scores = units @ rng.normal(0, 1, (hidden, outputs))
        return scores / scores.std()

    appearance = smooth(30, 9) + rng.normal(0, 1, (n_nodes, 30))
    unary = 0.5 * layers(appearance, 64, n_labels)
    ends = np.concatenate([appearance[edges[:, 0], :15], appearance[edges[:, 1], :15]], 1)
    offset = 10 * (points[edges[:, 1]] - points[edges[:, 0]])
    own = layers(np.concatenate([ends, offset], 1), 64, n_labels**2).reshape(-1, n_labels, n_labels)
    common = rng.normal(0, 0.1, (n_labels, n_labels)) + 0.3 * np.eye(n_labels)
    interaction = (common + 0.15 * own).astype(np.float32)
    return Instance(f"network_L{n_labels}_{n_nodes}_{seed}", unary.astype(np.float32), interaction, edges)


def gaussian(strength: str, seed: int, n_nodes: int = 300, n_labels: int = 21) -> Instance:
    """Normal scores on a random planar graph; the tables' deviation is `STRENGTHS[strength]`."""
    rng = np.random.default_rng([seed, list(STRENGTHS).index(strength)])
    _, edges = planar_graph(n_nodes, rng)
    unary = rng.standard_normal((n_nodes, n_labels), np.float32)
    interaction = STRENGTHS[strength] * rng.standard_normal((len(edges), n_labels, n_labels), np.float32)
    return Instance(f"random_{strength}_{seed}", unary, interaction.astype(np.float32), edges)


def chain(seed: int, n_nodes: int = 300, n_labels: int = 26) -> Instance:
    """Normal scores on one long word, as many labels as letters."""
    rng = np.random.default_rng(seed)
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], 1)
    unary = rng.standard_normal((n_nodes, n_labels), np.float32)
    return Instance(f"chain_{seed}", unary, rng.standard_normal((n_nodes - 1, n_labels, n_labels), np.float32), edges)


def tree(seed: int, n_nodes: int = 300, n_labels: int = 21) -> Instance:
    """Normal scores on a random recursive tree."""
    rng = np.random.default_rng(seed)
    parents = np.array([rng.integers(child) for child in range(1, n_nodes)])
    edges = np.stack([parents, np.arange(1, n_nodes)], 1)
    unary = rng.standard_normal((n_nodes, n_labels), np.float32)
    return Instance(f"tree_{seed}", unary, rng.standard_normal((n_nodes - 1, n_labels, n_labels), np.float32), edges)


def grid_edges(height: int, width: int) -> NDArray[np.int64]:
    """Edges (E, 2) of a four-connected grid numbered row by row."""
    nodes = np.arange(height * width).reshape(height, width)
    right = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], 1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], 1)
    return np.concatenate([right, down])


def grid(seed: int, side: int = 20, n_labels: int = 16) -> Instance:
    """Normal unaries on a grid whose tables favour equal labels by a random weight, with some noise."""
    rng = np.random.default_rng(seed)
    edges = grid_edges(side, side)
    unary = rng.standard_normal((side * side, n_labels), np.float32)
    weight = rng.exponential(0.8, (len(edges), 1, 1))
    interaction = weight * np.eye(n_labels) + rng.normal(0, 0.3, (len(edges), n_labels, n_labels))
    return Instance(f"grid_{seed}", unary, interaction.astype(np.float32), edges)


def submodular(seed: int, side: int = 40) -> Instance:
    """Two labels on a grid with tables that favour equal labels: solved exactly by one maximum flow."""
    rng = np.random.default_rng(seed)
    edges = grid_edges(side, side)
    unary = rng.standard_normal((side * side, 2), np.float32)
    interaction = rng.exponential(0.7, (len(edges), 1, 1)).astype(np.float32) * np.eye(2, dtype=np.float32)
    return Instance(f"submodular_{seed}", unary, np.ascontiguousarray(interaction), edges)
