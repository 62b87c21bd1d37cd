"""Pictures of grids, graphs and training, by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuralfactors._common.extras import needs
from neuralfactors._core.graph import Graph

__all__ = ["plot_graph", "plot_grid", "plot_history", "plot_reliability"]

CURVES = ("objective", "dual", "hinge")  # of a history, where it has them


def plot_grid(labels: ArrayLike, shape: tuple[int, int] | None = None, *, axes: Any = None, **options: Any) -> Any:
    """Labels of a grid as coloured squares.

    Parameters
    ----------
    labels : array of shape (H, W) or (H · W,)
        Labels, row by row; −1 is left white.
    shape : (int, int), default=None
        Height and width, where the labels are flat.
    axes : matplotlib Axes, default=None
        Where to draw; None: on new ones.
    **options
        For `Axes.pcolormesh`, such as `cmap` or `edgecolors`.

    Returns
    -------
    matplotlib Axes
        With the picture.
    """
    values = np.asarray(labels)
    values = values.reshape(shape) if shape is not None else values
    if values.ndim != 2:
        raise ValueError(f"labels must have shape (H, W), or come with one, got {values.shape}")
    axes = _axes(axes)
    masked = np.ma.masked_less(values, 0)
    axes.pcolormesh(masked, **{"edgecolors": "0.8", "linewidth": 0.5, **options})
    axes.set(aspect="equal", xticks=(), yticks=())
    axes.invert_yaxis()
    return axes


def plot_graph(graph: Graph, labels: ArrayLike, places: ArrayLike, *, axes: Any = None, **options: Any) -> Any:
    """A graph with its nodes at given places, coloured by label.

    Parameters
    ----------
    graph : Graph
        Of edges that join two nodes.
    labels : array of shape (V,)
        Colours of the nodes; −1 is white.
    places : array of shape (V, 2)
        Where the nodes lie.
    axes : matplotlib Axes, default=None
        Where to draw; None: on new ones.
    **options
        For `Axes.scatter`, such as `cmap` or `s`.

    Returns
    -------
    matplotlib Axes
        With the picture.
    """
    points, values = np.asarray(places, dtype=float), np.ma.masked_less(np.asarray(labels), 0)
    if points.shape != (graph.n_nodes, 2) or values.shape != (graph.n_nodes,) or graph.order != 2:
        shapes = f"{points.shape} and {values.shape}, for {graph.n_nodes} nodes and edges of {graph.order}"
        raise ValueError(f"places must have shape (V, 2) and labels (V,), for edges of 2 nodes, got {shapes}")
    axes = _axes(axes)
    for first, second in points[graph.edges]:
        axes.plot(*zip(first, second, strict=True), color="0.7", zorder=1)
    axes.scatter(*points.T, c=values, plotnonfinite=True, **{"edgecolors": "0.2", "zorder": 2, **options})
    axes.set(aspect="equal", xticks=(), yticks=())
    return axes


def plot_history(history: Sequence[Mapping[str, Any]], *, axes: Any = None) -> Any:
    """Learning curves: objective, dual and hinge against seconds of training, where the records have them.

    Parameters
    ----------
    history : sequence of mapping
        Records of the epochs, such as `estimator.history_`.
    axes : matplotlib Axes, default=None
        Where to draw; None: on new ones.

    Returns
    -------
    matplotlib Axes
        With a curve for each.
    """
    axes = _axes(axes)
    seconds = np.cumsum([sum(record["seconds"].values()) for record in history])
    for name in CURVES:
        known = [(t, record[name]) for t, record in zip(seconds, history, strict=True) if record.get(name) is not None]
        if known:
            axes.plot(*zip(*known, strict=True), label=name)
    axes.set(xlabel="seconds", ylabel="value")
    axes.legend()
    return axes


def plot_reliability(reliability: Any, *, axes: Any = None, **options: Any) -> Any:
    """Accuracy against confidence, beside the diagonal on which calibrated probabilities lie.

    Parameters
    ----------
    reliability : Reliability
        Of `neuralfactors.metrics`.
    axes : matplotlib Axes, default=None
        Where to draw; None: on new ones.
    **options
        For `Axes.plot`, such as `label`.

    Returns
    -------
    matplotlib Axes
        With a curve whose points are the bins that hold anything.
    """
    new = axes is None or not axes.lines
    axes = _axes(axes)
    if new:
        axes.plot((0, 1), (0, 1), color="0.7", linestyle="--")
        axes.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    filled = reliability.share > 0
    axes.plot(reliability.confidence[filled], reliability.accuracy[filled], **{"marker": "o", **options})
    return axes


def _axes(given: Any) -> Any:
    if given is not None:
        return given
    with needs(__name__, "plot"):
        from matplotlib import pyplot
    return pyplot.subplots()[1]
