"""MAP inference on two graphs: a noisy picture is restored, and five methods meet on a random planar graph."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from scipy.spatial import Delaunay

from neuralfactors.inference import solve

INKS = ("red", "yellow", "green", "blue")
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


def show(picture):
    """A picture as text, legible without colours too."""
    text = Text()
    for row in picture:
        for label in row:
            text.append(GLYPHS[label], style=INKS[label])
        text.append("\n")
    return text


def restore_picture(console, rng):
    """Show a picture, the same with a third of its pixels drawn anew, and the most probable picture behind that."""
    height, width = 15, 25
    n_labels = len(INKS)
    picture = draw_rings(height, width)
    spoilt = rng.random((height, width)) < 1 / 3
    noisy = np.where(spoilt, rng.integers(n_labels, size=(height, width)), picture)

    unary = np.eye(n_labels)[noisy.ravel()]  # one for the colour that is seen
    edges = grid_edges(height, width)
    interaction = np.broadcast_to(0.6 * np.eye(n_labels), (len(edges), n_labels, n_labels))  # neighbours agree
    result = solve(unary, np.ascontiguousarray(interaction), edges)
    restored = result.labels.reshape(height, width)

    images = {"truth": picture, "seen": noisy, "restored": restored}
    table = Table.grid(padding=(0, 2))
    table.title = f"{height} × {width} pixels: score {result.score:.1f}, {result.status}"
    table.add_row(*(f"{name}: {np.mean(image == picture):.0%} right" for name, image in images.items()))
    table.add_row(*map(show, images.values()))
    console.print(table)


def compare_methods(console, rng, n_nodes=300, n_labels=21):
    """Show what each method makes of a planar graph in which every edge has its own random table."""
    edges = planar_edges(n_nodes, rng)
    unary = rng.standard_normal((n_nodes, n_labels), dtype=np.float32)
    interaction = 0.1 * rng.standard_normal((len(edges), n_labels, n_labels), dtype=np.float32)

    table = Table("method", title=f"{n_nodes} nodes, {len(edges)} edges, {n_labels} labels; higher is better")
    for name in ("score", "bound", "status", "ms"):
        table.add_column(name, justify="right")
    for method in ("icm", "bp", "alpha-expansion", "trws", "auto"):
        start = time.perf_counter()
        result = solve(unary, interaction, edges, method=method)
        milliseconds = 1e3 * (time.perf_counter() - start)
        table.add_row(method, f"{result.score:.2f}", f"{result.bound:.2f}", result.status, f"{milliseconds:.1f}")
    console.print(table)


def main():
    console = Console()
    rng = np.random.default_rng(0)
    restore_picture(console, rng)
    compare_methods(console, rng)


if __name__ == "__main__":
    main()
