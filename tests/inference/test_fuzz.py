"""Random calls, sensible and not: no crash, no hang, no other error than ValueError, no false claim.

`python tests/inference/test_fuzz.py 100000` (or `make fuzz`) makes that many of them; the test makes a few.
"""

import faulthandler
import sys
import time

import numpy as np

from neuralfactors.inference import METHODS, solve_batch

KERNEL_METHODS = [m for m in METHODS if m != "exact"]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 1e-300, 3e38, 1e308, -1e308]
SECONDS_PER_CALL = 60


def scores(rng, shape, dtype):
    with np.errstate(over="ignore"):
        array = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 13), dtype)
    if rng.random() < 0.3:
        array = np.round(array)
    if array.size and rng.random() < 0.3:
        array[rng.random(shape) < 0.2] = -np.inf
    if array.size and rng.random() < 0.1:
        with np.errstate(over="ignore"):
            array.flat[rng.integers(array.size)] = rng.choice(SPECIAL)
    return array


def spoil(rng, call):
    """Makes one argument something that it should not be."""
    name = rng.choice(list(call))
    array = call[name]
    choices = [None, "text", [], [[1, 2], [3]], -1, float("nan"), object(), np.zeros(3, complex)]
    if isinstance(array, np.ndarray):
        choices += [
            array[:-1],
            array.T,
            array[..., None],
            array.astype(bool),
            array.astype(object),
            array * 1000,
            -array,
        ]
    call[name] = choices[rng.integers(len(choices))]
    return call


def random_call(rng):
    n_graphs = int(rng.integers(1, 4))
    n_labels = int(rng.integers(1, 12)) if rng.random() < 0.9 else int(rng.integers(12, 60))
    sizes = rng.integers(0, 12, n_graphs)
    counts = np.where(sizes > 0, rng.integers(0, 20, n_graphs), 0)
    node_ptr, edge_ptr = np.r_[0, np.cumsum(sizes)], np.r_[0, np.cumsum(counts)]
    edges = [
        rng.integers(first, first + max(size, 1), (count, 2))
        for first, size, count in zip(node_ptr, sizes, counts, strict=False)
    ]
    dtype = rng.choice([np.float32, np.float64])
    call = {
        "unary": scores(rng, (int(node_ptr[-1]), n_labels), dtype),
        "interaction": scores(rng, (int(edge_ptr[-1]), n_labels, n_labels), dtype),
        "edges": np.concatenate(edges).astype(np.int64),
        "node_ptr": node_ptr,
        "edge_ptr": edge_ptr,
        "n_threads": int(rng.integers(1, 4)),
        "method": str(rng.choice(KERNEL_METHODS)),
        "tol": float(rng.choice([0.0, 1e-6, 1e-4, 1.0])),
        "random_state": int(rng.integers(100)),
        "max_iter": None if rng.random() < 0.5 else int(rng.integers(1, 20)),
        "reduced_costs": bool(rng.random() < 0.3),
    }
    if rng.random() < 0.3:
        call["init"] = rng.integers(0, n_labels, int(node_ptr[-1]))
    if n_labels ** sizes.max() > 1e4 and call["method"] == "exhaustive":
        call["method"] = "auto"  # refused above 1e8 labellings, and slow below
    return spoil(rng, call) if rng.random() < 0.3 else call


def check(call, rs):
    assert len(rs) == len(call["node_ptr"]) - 1
    for r in rs:
        assert not np.isnan(r.score)
        assert not np.isnan(r.bound)
        assert r.bound >= r.score
        assert ((r.labels >= 0) & (r.labels < np.asarray(call["unary"]).shape[1])).all()
        assert (r.score == -np.inf) == (r.status in ("infeasible", "unresolved"))
        if r.reduced_costs is not None:
            assert (r.reduced_costs >= 0).all()


def fuzz(n_calls, seed=0):
    """Numbers of calls that were answered and that were refused."""
    rng = np.random.default_rng(seed)
    answered = refused = 0
    for _ in range(n_calls):
        call = random_call(rng)
        faulthandler.dump_traceback_later(SECONDS_PER_CALL, exit=True)
        try:
            rs = solve_batch(**call)
            check(call, rs)
            answered += 1
        except ValueError:
            refused += 1
    faulthandler.cancel_dump_traceback_later()
    return answered, refused


def test_random_calls():
    answered, refused = fuzz(1500)
    assert answered > 500
    assert refused > 300


if __name__ == "__main__":
    start = time.perf_counter()
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    answered, refused = fuzz(total, seed=1)
    print(f"{answered} answered, {refused} refused in {time.perf_counter() - start:.0f} s")  # noqa: T201
