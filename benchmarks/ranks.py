"""Training on two ranks of torchrun: the gain over one, what communication costs, and what that means for many ranks.

`python benchmarks/ranks.py [--record docs/ranks.json]` starts the ranks itself, with one thread each. One rank alone
and both together train by turns within the same two processes, epoch by epoch from the same state, so that other load
hits both alike; the gain is the median of the ratios of neighbours. By the clock it needs two idle cores: `machine`
says how much faster two such processes were that had nothing to do with each other. By CPU time, that of the slower
rank with the time of the messages added, it needs no idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from training import BATCH_SIZE, SHAPES, make_data, make_descent

from neuralfactors.learning._checkpoints import restore_training, training_state
from neuralfactors.learning._descent import Descent
from neuralfactors.learning._distributed import Ranks
from neuralfactors.learning._training_graphs import Samples

WARM_UP = 3  # epochs
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # numbers in a message
TARGET = 1.7


@dataclass(frozen=True)
class TimedRanks(Ranks):
    """Ranks that add up the seconds they spend in messages, those of waiting for the other included."""

    spent: list[float] | None = None

    def sum_(self, tensors):
        start = time.perf_counter()
        super().sum_(tensors)
        if self.spent is not None:
            self.spent.append(time.perf_counter() - start)


def time_epoch(descent: Descent, samples: Samples) -> tuple[float, float]:
    """Wall-clock and CPU seconds of an epoch from where the descent stands, which is put back there afterwards."""
    document, tensors = training_state(descent)
    clock, cpu = time.perf_counter(), time.process_time()
    descent.run_epoch(samples)
    seconds = time.perf_counter() - clock, time.process_time() - cpu
    restore_training(descent, document, tensors)
    return seconds


def largest(seconds: float) -> float:
    """The most that any rank has taken."""
    message = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(message, dist.ReduceOp.MAX)
    return float(message)


def time_message(n_numbers: int) -> float:
    """Seconds of one sum of so many float32 numbers over all ranks, the fastest of ten."""
    message, fastest = torch.zeros(n_numbers), float("inf")
    for _ in range(10):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(message)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def work(path: Path, n_rounds: int, n_graphs: int) -> None:
    """What each rank does; the first writes what it has measured."""
    torch.set_num_threads(1)
    together = Ranks.current()
    shape = SHAPES[0]
    samples = Samples.check(*make_data(shape, n_graphs), shape.n_labels)
    descent = make_descent(samples, WARM_UP + 1)
    for _ in range(WARM_UP):
        descent.run_epoch(samples)
    n_steps = -(-n_graphs // BATCH_SIZE)
    rows = []
    for _ in range(n_rounds):
        descent.ranks = Ranks()
        alone = time_epoch(descent, samples) if together.leads else (0.0, 0.0)
        together.wait()
        unrelated, _ = time_epoch(descent, samples)  # each rank all graphs, without a message
        together.wait()
        spent: list[float] = []
        descent.ranks = TimedRanks(together.rank, together.size, spent)
        clock, cpu = time_epoch(descent, samples)
        rows.append((*alone, unrelated, clock, largest(cpu), sum(spent)))
    n_parameters = sum(parameter.numel() for parameter in descent.parameters)
    messages = {str(size): time_message(size) for size in (*SIZES, n_parameters)}
    if together.leads:
        wall, alone_cpu, unrelated_wall, both, both_cpu, waits = (torch.tensor(row) for row in zip(*rows, strict=True))
        found = {
            "graphs": n_graphs, "labels": shape.n_labels, "nodes": shape.n_nodes, "batch_size": BATCH_SIZE,
            "parameters": n_parameters,
            "step_alone": float(alone_cpu.median()) / n_steps,
            "step_of_two": float(both_cpu.median()) / n_steps,
            "in_messages_and_waiting": float(waits.median()) / n_steps,
            "message": messages[str(n_parameters)],
            "gain": float((wall / both).median()),
            "machine": float((2 * wall / unrelated_wall).median()),
            "gain_by_cpu": float((alone_cpu / (both_cpu + n_steps * messages[str(n_parameters)])).median()),
            "messages": messages,
        }  # fmt: skip
        path.write_text(json.dumps(found, indent=1) + "\n")


def start(n_rounds: int, n_graphs: int) -> dict:
    """What two ranks on this machine measure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        options = ["--work", str(path), "--rounds", str(n_rounds), "--graphs", str(n_graphs)]
        subprocess.run([*launch, __file__, *options], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        return json.loads(path.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few graphs, once: to see that it runs")
    parser.add_argument("--record", type=Path, help="write the figures, from which docs/ranks.py makes the page")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--graphs", type=int, default=96)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)  # this process is a rank
    options = parser.parse_args()
    n_rounds, n_graphs = (1, 24) if options.quick else (options.rounds, options.graphs)
    if options.work:
        work(options.work, n_rounds, n_graphs)
        return
    found = start(n_rounds, n_graphs)
    print(json.dumps(found, indent=1))
    print(f"two ranks are {found['gain_by_cpu']:.2f} times as fast as one by CPU time; target {TARGET}")
    print(f"by the clock {found['gain']:.2f}, where unrelated processes were {found['machine']:.2f}")
    if options.record:
        options.record.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(not options.quick and found["gain_by_cpu"] < TARGET)


if __name__ == "__main__":
    main()
