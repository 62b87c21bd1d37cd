"""How time and memory grow with the problem: time of an iteration by the number of edges, peak memory by the input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from harness import interleave
from instances import Instance, grid_edges

from neuralfactors.inference import solve

FEW, MANY = 4, 12  # iterations: the difference of the two times leaves out what is done once a call


def large_grid(n_nodes: int, n_labels: int) -> Instance:
    """Normal scores on a square grid of about `n_nodes` nodes, made in place so that nothing else is held for it."""
    side = round(n_nodes**0.5)
    edges = grid_edges(side, side)
    rng = np.random.default_rng(0)
    unary = np.empty((side * side, n_labels), np.float32)
    interaction = np.empty((len(edges), n_labels, n_labels), np.float32)
    rng.standard_normal(out=unary, dtype=np.float32)
    rng.standard_normal(out=interaction, dtype=np.float32)
    return Instance(f"grid_{side}x{side}", unary, interaction, edges)


def nanoseconds_per_edge(instance: Instance, repeats: int) -> float:
    """Thread CPU time of one `trws` iteration, divided by the number of edges."""

    def iterate(max_iter: int) -> int:
        return solve(*instance.arrays, method="trws", tol=0, max_iter=max_iter).iterations

    if (iterate(FEW), iterate(MANY)) != (FEW, MANY):
        raise RuntimeError(f"trws ended before {MANY} iterations on {instance.name}")
    seconds = interleave({"few": lambda: iterate(FEW), "many": lambda: iterate(MANY)}, repeats, summary=min)
    return 1e9 * (seconds["many"] - seconds["few"]) / (MANY - FEW) / len(instance.edges)


def resident(field: str) -> int:
    """Bytes of this process's memory: `VmRSS` now or `VmHWM` at its highest."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def probe_memory(n_nodes: int, n_labels: int, method: str) -> float:
    """Peak memory over input of one solve in this process, which must be a fresh one: see `memory_ratio`."""
    solve(*large_grid(16, n_labels).arrays, method=method)  # load the code first
    before = resident("VmRSS")
    instance = large_grid(n_nodes, n_labels)
    solve(*instance.arrays, method=method, max_iter=FEW)
    return (resident("VmHWM") - before) / sum(array.nbytes for array in instance.arrays)


def memory_ratio(n_nodes: int, n_labels: int, method: str) -> float:
    """(Highest resident memory during a solve − resident memory before its input is made) / bytes of the input.

    The input itself is thus counted: 1 would be a solver that needs no memory. Measured in a process of its own.
    """
    return in_fresh_process(f"scale.probe_memory({n_nodes}, {n_labels}, {method!r})")


def in_fresh_process(expression: str) -> float:
    """The value of `expression`, a call of a function in this folder such as `scale.f(1)`, in a process of its own."""
    module = expression.split(".", 1)[0]
    code = f"import json, {module}; print(json.dumps({expression}))"
    folder = Path(__file__).parent
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
    return float(json.loads(run.stdout))
