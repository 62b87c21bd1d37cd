"""Inference: a noisy picture is restored, and five methods meet on a random planar graph.

Run it with `python examples/inference.py`; it takes a second, and nothing but numpy and scipy.
"""

import time

import numpy as np
from scipy.spatial import Delaunay

from neuralfactors.inference import solve

GLYPHS = "█▓▒░"


def grid_edges(height, width):
    """Edges (E, 2) between horizontal and vertical neighbours of a picture."""
    index = np.arange(height * width).reshape(height, width)
    across = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)
    down = np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def planar_edges(n_nodes, rng):
    """Edges (E, 2) of a Delaunay triangulation of random points."""
    triangles = np.sort(Delaunay(rng.random((n_nodes, 2))).simplices.astype(np.int64), axis=1)
    return np.unique(np.concatenate([triangles[:, [0, 1]], triangles[:, [0, 2]], triangles[:, [1, 2]]]), axis=0)


def draw_rings(height, width):
    """A picture (height, width) of rings in four colours."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    return np.minimum(np.hypot(y, x) / 0.3, 3).astype(np.int64)


def restore_picture(rng):
    """Show a picture, the same with a third of its pixels drawn anew, and the most probable picture behind that."""
    height, width = 15, 25
    n_labels = len(GLYPHS)
    picture = draw_rings(height, width)
    spoilt = rng.random((height, width)) < 1 / 3
    noisy = np.where(spoilt, rng.integers(n_labels, size=(height, width)), picture)

    unary = np.eye(n_labels)[noisy.ravel()]  # one for the colour that is seen
    edges = grid_edges(height, width)
    interaction = np.broadcast_to(0.6 * np.eye(n_labels), (len(edges), n_labels, n_labels))  # neighbours agree
    result = solve(unary, np.ascontiguousarray(interaction), edges)
    restored = result.labels.reshape(height, width)

    print(f"{height} × {width} pixels: score {result.score:.1f}, {result.status}")
    images = {"truth": picture, "seen": noisy, "restored": restored}
    print("  ".join(f"{f'{name}: {np.mean(image == picture):.0%} right':{width}s}" for name, image in images.items()))
    for rows in zip(*images.values(), strict=True):
        print("  ".join("".join(GLYPHS[label] for label in row) for row in rows))


def compare_methods(rng, n_nodes=300, n_labels=21):
    """Show what each method makes of a planar graph in which every edge has its own random table."""
    edges = planar_edges(n_nodes, rng)
    unary = rng.standard_normal((n_nodes, n_labels), dtype=np.float32)
    interaction = 0.1 * rng.standard_normal((len(edges), n_labels, n_labels), dtype=np.float32)

    print(f"\n{n_nodes} nodes, {len(edges)} edges, {n_labels} labels; higher is better")
    print(f"{'method':15s} {'score':>8s} {'bound':>8s} {'status':>12s} {'ms':>6s}")
    for method in ("icm", "bp", "alpha-expansion", "trws", "auto"):
        start = time.perf_counter()
        result = solve(unary, interaction, edges, method=method)
        milliseconds = 1e3 * (time.perf_counter() - start)
        print(f"{method:15s} {result.score:8.2f} {result.bound:8.2f} {result.status:>12s} {milliseconds:6.1f}")


def main():
    rng = np.random.default_rng(0)
    restore_picture(rng)
    compare_methods(rng)


if __name__ == "__main__":
    main()
