"""Draw the pictures of the method's pages into docs/figures: python docs/figures.py."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from neuralfactors import grid_edges, solve

FOLDER = Path(__file__).parent / "figures"
BLUE, ORANGE, GREEN, GREY, INK = "#2a78b8", "#e07b39", "#4a9b5d", "#9aa7b4", "#1d2a38"
STYLE = {"svg.hashsalt": "figures", "svg.fonttype": "none", "font.size": 10, "font.family": "DejaVu Sans"}


def box(axis, x, y, text, colour, width=1.7, height=0.8):
    """A rounded box with a text in it, centred at x, y."""
    place = (x - width / 2, y - height / 2)
    axis.add_patch(FancyBboxPatch(place, width, height, boxstyle="round,pad=0.05", fc=f"{colour}22", ec=colour, lw=1.5))
    axis.text(x, y, text, ha="center", va="center", color=INK)


def arrow(axis, start, end, text="", bend=0.0, rise=0.18):
    """An arrow with a text at its middle."""
    style = {"arrowstyle": "-|>", "mutation_scale": 14, "color": GREY, "lw": 1.5}
    axis.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", **style))
    axis.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + rise, text, ha="center", color=INK, fontsize=9)


def blank(width, height, *limits):
    figure, axis = plt.subplots(figsize=(width, height), layout="constrained")
    axis.set(xlim=limits[:2], ylim=limits[2:], aspect="equal")
    axis.set_axis_off()
    return figure, axis


def factor_graph():
    """Four regions of a picture as nodes, a unary factor on each, an interaction factor on each edge."""
    figure, axis = blank(7.2, 3.2, -1.4, 7.4, -1.2, 2.9)
    places = {"sky": (0, 2), "balloon": (3, 2.3), "forest": (1, 0), "water": (4, 0)}
    colours = {"sky": BLUE, "balloon": ORANGE, "forest": GREEN, "water": BLUE}
    for a, b in [
        ("sky", "balloon"),
        ("sky", "forest"),
        ("balloon", "water"),
        ("forest", "water"),
        ("balloon", "forest"),
    ]:
        (x, y), (u, v) = places[a], places[b]
        axis.plot([x, u], [y, v], color=GREY, lw=1.5, zorder=1)
        axis.scatter((x + u) / 2, (y + v) / 2, marker="s", s=90, color=INK, zorder=2)
    for name, (x, y) in places.items():
        axis.plot([x, x - 0.75], [y, y + 0.35], color=GREY, lw=1.5, zorder=1)
        axis.scatter(x - 0.75, y + 0.35, marker="s", s=90, color=GREY, zorder=2)
        axis.scatter(x, y, s=1300, color=colours[name], zorder=2)
        axis.text(x, y, name, ha="center", va="center", color="white", zorder=3, fontsize=8)
    for y, mark, size, colour, text in [
        (2.2, "o", 200, BLUE, "node: a region, gets a label"),
        (1.5, "s", 90, GREY, "unary factor: scores of its labels"),
        (0.8, "s", 90, INK, "interaction factor: scores of\nthe label pairs of two neighbours"),
    ]:
        axis.scatter(4.9, y, marker=mark, s=size, color=colour)
        axis.text(5.15, y, text, va="center", fontsize=9, color=INK)
    return figure


def margin():
    """Scores of labellings beside what the loss demands: the true one must win by the number of wrong nodes."""
    figure, axis = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    wrong, scores = np.array([0, 1, 1, 2, 3, 4]), np.array([5.0, 3.2, 4.6, 2.1, 2.9, 0.4])
    axis.plot([0, 4.3], [5.0, 0.7], color=INK, lw=1.2, linestyle="--")
    axis.text(1.5, 4.3, "dashed: demanded, g(x, y) − Δ(y, z)", fontsize=9, color=INK)
    violating = scores > 5.0 - wrong + 1e-9
    axis.scatter(wrong[~violating], scores[~violating], s=60, color=BLUE, zorder=3)
    axis.scatter(wrong[violating], scores[violating], s=60, color=ORANGE, zorder=3)
    for x, y in zip(wrong[violating], scores[violating], strict=True):
        axis.plot([x, x], [5.0 - x, y], color=ORANGE, lw=2)
    axis.annotate("true labelling y", (0, 5), (0.25, 5.15), fontsize=9)
    axis.annotate("most violating: z", (3, 2.9), (3.1, 3.1), fontsize=9, color=ORANGE)
    axis.set(xlabel="wrong nodes, Δ(y, z)", ylabel="score g(x, z)", xlim=(-0.3, 4.8), ylim=(0, 5.8))
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def loop():
    """Training: features to potentials, loss-augmented inference, gradients back to both networks."""
    figure, axis = blank(8.4, 3.0, -0.2, 11.4, -0.4, 3.9)
    box(axis, 0.9, 2.6, "node features", GREY)
    box(axis, 0.9, 0.6, "edge features", GREY)
    box(axis, 3.6, 2.6, "unary network", BLUE)
    box(axis, 3.6, 0.6, "interaction\nnetwork", BLUE)
    box(axis, 6.3, 1.6, "potentials\nU, P", GREEN, width=1.5)
    box(axis, 8.7, 1.6, "inference\nfinds z", ORANGE, width=1.5)
    box(axis, 10.7, 1.6, "hinge", INK, width=1.0)
    for start, end in [((1.8, 2.6), (2.65, 2.6)), ((1.8, 0.6), (2.65, 0.6)), ((4.5, 2.5), (5.5, 1.8))]:
        arrow(axis, start, end)
    for start, end in [((4.5, 0.7), (5.5, 1.4)), ((7.1, 1.6), (7.9, 1.6)), ((9.5, 1.6), (10.15, 1.6))]:
        arrow(axis, start, end)
    arrow(axis, (10.6, 2.1), (4.5, 2.9), "gradient: +1 at z, −1 at y", bend=0.22, rise=1.0)
    arrow(axis, (10.6, 1.1), (4.5, 0.3), bend=-0.22)
    return figure


def factors():
    """Tables of an edge: one for all edges, linear in a feature, and by a network."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained", sharey=True)
    angle = np.linspace(0, 180, 100)  # 90: the second region lies beside the first
    shapes = {
        "one table for all edges": (np.full(100, 0.4), np.full(100, -0.3)),
        "linear in the feature": (0.9 - angle / 130, -0.8 + angle / 130),
        "a network of the feature": (np.exp(-(((angle - 90) / 30) ** 2)), np.tanh((angle - 120) / 15) * 0.8),
    }
    for axis, (name, (same, above)) in zip(axes, shapes.items(), strict=True):
        axis.plot(angle, same, color=BLUE, lw=2, label="sky – sky")
        axis.plot(angle, above, color=ORANGE, lw=2, label="sky – water")
        axis.set(title=name, xlabel="angle to the neighbour", xticks=[0, 90, 180], ylim=(-1.1, 1.5))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("score")
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def certificate():
    """Score and bound of a run of `solve`, event by event."""
    events = []
    unary = np.random.default_rng(4).normal(size=(400, 4))
    table = np.random.default_rng(5).normal(size=(760, 4, 4))
    result = solve(unary, table, grid_edges(20, 20), callback=lambda *event: events.append(event[1:]), max_iter=60)
    scores, bounds = np.array(events).T
    figure, axis = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    axis.fill_between(range(len(scores)), scores, bounds, color=GREY, alpha=0.25, step="post", label="gap: open")
    axis.step(range(len(bounds)), bounds, where="post", color=ORANGE, lw=2, label="bound")
    axis.step(range(len(scores)), scores, where="post", color=BLUE, lw=2, label="score")
    span = result.bound - result.score
    axis.set(xlabel="reports of the search", ylim=(result.score - 4 * span - 20, result.bound + 4 * span + 20))
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def main():
    FOLDER.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        for draw in (factor_graph, margin, loop, factors, certificate):
            figure = draw()
            figure.savefig(FOLDER / f"{draw.__name__.replace('_', '-')}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
