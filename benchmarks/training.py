"""One epoch of integrated training with neural factors, against the matrix products that it cannot do without.

Everything runs on one thread of one process and is counted in its CPU time, so that what else the machine does matters
little. The targets go by the bare products of one dense forward pass, which no implementation can avoid. A reference is
timed for comparison only, since the same products limit it: it treats a graph at a time, as the paper's implementation
did, by a dense forward pass, α-expansion with QPBO moves from Python (thinqpbo), and a dense backward pass. It is timed
on a few graphs and extrapolated to all.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
import numpy as np
import torch
from instances import planar_graph
from reference import alpha_expansion

from neuralfactors import Factor, FactorModel, Graph, Potentials
from neuralfactors.learning import Decoder, Subgradient
from neuralfactors.learning._checkpoints import restore_training, training_state
from neuralfactors.learning._decode import Decoded
from neuralfactors.learning._descent import Descent
from neuralfactors.learning._margin import loss_augment, node_costs
from neuralfactors.learning._subgradient import TrainingSettings
from neuralfactors.learning._training_graphs import Samples

N_NODE_FEATURES, N_EDGE_FEATURES = 90, 32
UNARY_HIDDEN, INTERACTION_HIDDEN = 256, 512
BATCH_SIZE = 12
WARM_UP = 70  # steps, so that the share of differing rows is that of a run under way and not of its beginning


@dataclass(frozen=True)
class Shape:
    """Size of a data set; `timed` graphs are trained on, and `n_graphs` is what their time is extrapolated to."""

    name: str
    n_graphs: int
    n_labels: int
    limit: float  # how many times as long as its bare products an epoch may take
    n_nodes: int = 300
    timed: int | None = None


SHAPES = [Shape("MSRC-21", 276, 21, 1.2), Shape("KITTI", 149, 8, 1.7), Shape("SIFT Flow", 2488, 33, 1.2, timed=200)]


@dataclass(eq=False, repr=False)
class TimedDecoder(Decoder):
    """Decoder that adds up its CPU time."""

    spent: list[float] = field(default_factory=list)

    def __call__(self, potentials: Potentials) -> Decoded:
        start = time.process_time()
        decoded = super().__call__(potentials)
        self.spent.append(time.process_time() - start)
        return decoded


def make_data(shape: Shape, n_graphs: int, seed: int = 0) -> tuple[list[Graph], list[np.ndarray]]:
    """Planar graphs of coherent regions, whose features tell the class about as badly as bags of words do."""
    rng = np.random.default_rng(seed)
    prototypes = rng.normal(size=(shape.n_labels, N_NODE_FEATURES))
    mix = rng.normal(size=(N_NODE_FEATURES, 15)) / np.sqrt(N_NODE_FEATURES)
    X, Y = [], []
    for _ in range(n_graphs):
        points, edges = planar_graph(shape.n_nodes, rng)
        centres, present = rng.random((6, 2)), rng.choice(shape.n_labels, size=6)
        y = present[((points[:, None] - centres) ** 2).sum(2).argmin(1)]
        nodes = 0.2 * prototypes[y] + rng.normal(size=(shape.n_nodes, N_NODE_FEATURES))
        i, j = edges.T
        offset = points[j] - points[i]
        ends = [nodes[i] @ mix, nodes[j] @ mix, np.hypot(*offset.T)[:, None], np.arctan2(*offset.T)[:, None]]
        X.append(Graph(nodes.astype(np.float32), edges, np.concatenate(ends, axis=1).astype(np.float32)))
        Y.append(y)
    return X, Y


def make_descent(samples: Samples, max_iter: int) -> Descent:
    """A descent of int+nrl with Adam, 12 graphs a step."""
    generator = torch.Generator().manual_seed(0)
    unary = Factor(N_NODE_FEATURES, samples.n_labels, 1, (UNARY_HIDDEN,), generator=generator)
    interaction = Factor(N_EDGE_FEATURES, samples.n_labels, 2, (INTERACTION_HIDDEN,), generator=generator)
    trainer = Subgradient(learning_rate=1e-3, schedule="constant")
    settings = TrainingSettings(
        trainer, C=(10.0, 10.0), max_iter=max_iter, batch_size=BATCH_SIZE, loss="hinge", void="drop", n_hidden=(1, 1),
        seed=0,
    )  # fmt: skip
    decoder = TimedDecoder(n_threads=1).for_training()  # as StructuralSVM has it
    return Descent(FactorModel(unary, interaction, samples.n_labels), settings, decoder)


def time_products(samples: Samples) -> float:
    """CPU seconds of the bare float32 matrix products of a forward pass over all graphs, into memory made before."""
    n_labels = samples.n_labels
    layers = {
        "node": [(N_NODE_FEATURES, UNARY_HIDDEN), (UNARY_HIDDEN, n_labels)],
        "edge": [(N_EDGE_FEATURES, INTERACTION_HIDDEN), (INTERACTION_HIDDEN, n_labels**2)],
    }
    chunks = list(samples.chunks(range(len(samples))))
    rows = {
        "node": [sum(samples.X[n].n_nodes for n in chunk) for chunk in chunks],
        "edge": [sum(samples.X[n].n_edges for n in chunk) for chunk in chunks],
    }
    seconds = 0.0
    for part, sizes in layers.items():
        for below, above in sizes:
            largest = max(rows[part])
            left, right, out = torch.randn(largest, below), torch.randn(below, above), torch.empty(largest, above)
            torch.mm(left, right, out=out)
            for n_rows in rows[part]:
                start = time.process_time()
                torch.mm(left[:n_rows], right, out=out[:n_rows])
                seconds += time.process_time() - start
    return seconds


def time_reference(descent: Descent, samples: Samples, n_graphs: int) -> tuple[float, float]:
    """CPU seconds a graph of the reference, and those of them spent on inference."""
    model, total, inference = descent.model, 0.0, 0.0
    for n in range(n_graphs):
        batch, y = samples.batch([n], torch.float32)
        start = time.process_time()
        total -= start
        potentials = model(batch)
        augmented = loss_augment(potentials, y, node_costs(y))
        arrays = augmented.unary.detach().numpy(), augmented.interaction.detach().numpy(), batch.edges.numpy()
        begun = time.process_time()
        z = torch.from_numpy(alpha_expansion(*arrays).labels)
        inference += time.process_time() - begun
        torch.autograd.backward((potentials.score(z) - potentials.score(y)).sum())
        if (n + 1) % BATCH_SIZE == 0:
            descent.update(BATCH_SIZE, 1.0)
            descent.optimizer.zero_grad()
        total += time.process_time()
    return total / n_graphs, inference / n_graphs


@dataclass(frozen=True)
class Round:
    """CPU seconds of an epoch, of its bare products and of the reference, measured in turn."""

    epoch: float
    inference: float
    record: dict[str, Any]
    products: float
    reference: float  # of a graph
    in_reference: float


def time_round(descent: Descent, samples: Samples, n_reference: int) -> Round:
    """One epoch from where the descent stands, which is put back there afterwards, then what it is compared with."""
    document, tensors = training_state(descent)
    descent.decoder.spent.clear()
    start = time.process_time()
    record = descent.run_epoch(samples)
    epoch = time.process_time() - start
    inference = sum(descent.decoder.spent)
    restore_training(descent, document, tensors)
    products = time_products(samples)
    reference = time_reference(descent, samples, n_reference)
    restore_training(descent, document, tensors)
    return Round(epoch, inference, record, products, *reference)


def measure_shape(report: harness.Report, shape: Shape, quick: bool) -> None:
    timed = 24 if quick else (shape.timed or shape.n_graphs)
    X, Y = make_data(shape, timed)
    samples = Samples.check(X, Y, shape.n_labels)
    warm_up = -(-WARM_UP * BATCH_SIZE // timed)
    descent = make_descent(samples, warm_up + 1)
    for _ in range(warm_up):
        descent.run_epoch(samples)
    n_reference = 2 if quick else 12
    rounds = [time_round(descent, samples, n_reference) for _ in range(1 if quick else 4)]
    best = min(rounds, key=lambda found: found.epoch)
    epoch, products = best.epoch, min(found.products for found in rounds)
    fastest = min(rounds, key=lambda found: found.reference)
    reference = fastest.reference
    scale = shape.n_graphs / timed
    case = f"{shape.name}, {shape.n_labels} labels"
    report.measured(case, "epoch, CPU seconds", epoch * scale)
    report.measured(case, "reference epoch, CPU seconds", reference * shape.n_graphs)
    report.measured(case, "times faster than the reference", reference * timed / epoch)
    report.at_most(case, "epoch over the bare forward products", epoch / products, shape.limit)
    report.at_most(case, "share of inference in the epoch", best.inference / epoch, 0.35)
    report.measured(case, "share of inference in the reference", fastest.in_reference / reference)
    report.measured(case, "share of differing nodes", best.record["differing"])
    report.measured(case, "share within tolerance", best.record["within_tol"])
    if scale != 1:
        report.note(f"{shape.name}: timed on {timed} graphs and extrapolated to {shape.n_graphs}.")


def working_memory(n_graphs: int, n_epochs: int) -> float:
    """Megabytes by which training on so many graphs raises the peak of the process above its data."""
    torch.set_num_threads(1)
    samples = Samples.check(*make_data(SHAPES[0], n_graphs), SHAPES[0].n_labels)
    descent = make_descent(samples, 1 + n_epochs)
    descent.run_epoch(Samples.check(samples.X[:BATCH_SIZE], samples.Y[:BATCH_SIZE], samples.n_labels))
    # Only what training itself needs shall count: what making the data has left to the allocator goes back, and the
    # peak is forgotten.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = megabytes("VmRSS")
    for _ in range(n_epochs):
        descent.run_epoch(samples)
    return megabytes("VmHWM") - before


def megabytes(entry: str) -> float:
    """An entry of this process's status; unlike `getrusage`, its peak leaves out that of the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{entry}:")) / 2**10


def measure_memory(report: harness.Report, quick: bool) -> None:
    few, many, repeats = (12, 24, 1) if quick else (50, 200, 3)
    settings = [(few, 2 * many // few), (many, 2)] * repeats  # the same number of steps for both
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        peaks = pool.starmap(working_memory, settings, chunksize=1)
    small, large = min(peaks[::2]), min(peaks[1::2])  # what the allocator keeps for itself varies
    report.measured("memory", f"MB beyond the data, {few} graphs", small)
    report.measured("memory", f"MB beyond the data, {many} graphs", large)
    report.at_most("memory", f"growth from {few} to {many} graphs", large / small, 1.2)


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    for shape in SHAPES:
        measure_shape(report, shape, quick)
    measure_memory(report, quick)
    report.note(
        "The reference is timed on 12 graphs of each shape and extrapolated to all; times are the best of four."
    )


if __name__ == "__main__":
    harness.main("Training", measure)
