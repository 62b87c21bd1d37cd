"""Inference methods on a Potts model (plot_potts_model, plot_inference_general_grid): score, bound and time."""

import time

import numpy as np

from neuralfactors import grid_edges, solve


def main(quick=False):
    side, n_labels = (8, 4) if quick else (32, 10)
    edges = grid_edges(side, side)
    unary = np.random.default_rng(0).normal(size=(side * side, n_labels))
    tables = np.broadcast_to(np.eye(n_labels), (len(edges), n_labels, n_labels)).copy()
    for method in ("icm", "bp", "alpha-expansion", "trws", "auto"):
        start = time.perf_counter()
        found = solve(unary, tables, edges, method=method)
        took = 1000 * (time.perf_counter() - start)
        print(f"{method}: score {found.score:.2f}, at most {found.bound:.2f}, {found.status}, {took:.1f} ms")


if __name__ == "__main__":
    main()
