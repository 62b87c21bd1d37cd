"""Memory while a data set of ten times the limit is learned from: file by file, in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import harness
import numpy as np
from harness import Report

from neuralfactors import Graph, GraphBatch, StructuralSVM, StructuredHingeLoss, chain_edges

LIMIT = 100.0  # megabytes beyond what the process has after the first file
N_GRAPHS, N_NODES, N_FEATURES = 25, 100, 1000  # of a file: 10 megabytes
MEGABYTE = 2**20


def write_files(folder: Path, n_files: int) -> float:
    """Chains whose labels follow from their features, a file of arrays each; the megabytes written."""
    direction = np.random.default_rng(0).normal(size=N_FEATURES)
    for n in range(n_files):
        features = np.random.default_rng(n + 1).normal(size=(N_GRAPHS, N_NODES, N_FEATURES)).astype(np.float32)
        np.savez(folder / f"{n:03}.npz", features=features, labels=(features @ direction > 0).astype(np.int64))
    return sum(path.stat().st_size for path in folder.glob("*.npz")) / MEGABYTE


def read(path: Path) -> tuple[list[Graph], list[np.ndarray]]:
    """The graphs of a file."""
    with np.load(path) as arrays:
        edges = chain_edges(N_NODES)
        return [Graph(features, edges) for features in arrays["features"]], list(arrays["labels"])


def by_partial_fit(paths: list[Path]) -> StructuralSVM:
    """An estimator that is given one file after the other."""
    svm = StructuralSVM((), (), C=1.0, batch_size=N_GRAPHS)
    for path in paths:
        svm.partial_fit(*read(path))
        mark()
    return svm


def by_data_loader(paths: list[Path]) -> None:
    """A loop of one's own in torch, whose loader reads one file after the other."""
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    from neuralfactors import Factor, FactorModel

    class Files(IterableDataset):
        def __iter__(self):
            for path in paths:
                yield from zip(*read(path), strict=True)

    model, loss = FactorModel(Factor(N_FEATURES, 2), Factor(0, 2, order=2), n_labels=2), StructuredHingeLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for batch in DataLoader(Files(), batch_size=N_GRAPHS, collate_fn=GraphBatch.collate):
        optimizer.zero_grad()
        loss(model(batch), batch.y).backward()
        optimizer.step()
        mark()


peaks: list[float] = []


def mark() -> None:
    """Note the peak memory so far, in megabytes."""
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE)


WAYS = {"partial_fit": by_partial_fit, "DataLoader": by_data_loader}


def measure(report: Report, quick: bool) -> None:
    """Both ways over the same files."""
    with tempfile.TemporaryDirectory() as folder:
        size = write_files(Path(folder), 4 if quick else 110)
        for way in WAYS:
            line = [sys.executable, __file__, "--way", way, folder]
            first, last = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
            report.measured(way, "megabytes of data", size)
            report.measured(way, "megabytes of memory after the first file", first)
            report.at_most(way, "megabytes more at the peak of all files", last - first, LIMIT)
            if not quick:
                report.at_least(way, "data over the limit", size / LIMIT, 10.0)


if __name__ == "__main__":
    if "--way" in sys.argv:
        WAYS[sys.argv[2]](sorted(Path(sys.argv[3]).glob("*.npz")))
        print(json.dumps([peaks[0], peaks[-1]]))
    else:
        harness.main("Learning from more data than memory", measure)
