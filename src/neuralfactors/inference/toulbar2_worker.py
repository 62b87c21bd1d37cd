"""Runs toulbar2 on one problem in a process of its own; started by `toulbar2.py`.

toulbar2 keeps its state, its timer and its signal handlers in the process: after one search that was cut short, the
next one in the same process ends early too. And a process can be ended at any time.
"""

import sys
import time

import numpy as np
from pytoulbar2 import CFN


def main(problem_file: str, result_file: str) -> None:
    """Minimises the costs in one file; writes the values, whether the search was complete, and a lower bound."""
    data = np.load(problem_file)
    sizes, seconds = data["sizes"], int(data["seconds"])
    network = CFN(vac=1)
    network.Option.trwsAccuracy = 1e-5  # a tight dual bound first; chosen by measurement
    for v, size in enumerate(sizes):
        network.AddVariable(f"x{v}", range(int(size)))
    for k in range(int(data["n_tables"])):
        network.AddFunction(data[f"scope_{k}"].tolist(), data[f"costs_{k}"].ravel().tolist())
    network.UbInit = float(data["upper"])  # only labellings that cost less count
    begin = time.process_time()
    found = network.Solve(timeLimit=seconds)
    # toulbar2 does not say whether its timer (of processor time) ended the search.
    complete = seconds == 0 or time.process_time() - begin < seconds - 0.1
    np.savez(
        result_file,
        found=found is not None,
        values=np.array([] if found is None else found[0], np.int64),
        complete=complete,
        lower=network.GetDDualBound(),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
