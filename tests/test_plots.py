"""Pictures show what they are given; matplotlib is imported only when one is drawn."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from neuralfactors import Graph
from neuralfactors.metrics import Reliability
from neuralfactors.plots import plot_graph, plot_grid, plot_history, plot_reliability

mpl.use("Agg")


def test_matplotlib_waits_until_something_is_drawn():
    code = "import sys, neuralfactors.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"


def test_a_grid_has_a_square_a_label_and_void_is_masked():
    labels = np.array([0, 1, -1, 2, 0, 1])
    axes = plot_grid(labels, (2, 3))
    (mesh,) = axes.collections
    drawn = mesh.get_array()
    assert drawn.reshape(2, 3).filled(-1).tolist() == labels.reshape(2, 3).tolist()
    assert plot_grid(labels.reshape(2, 3), axes=axes) is axes
    with pytest.raises(ValueError, match=r"labels must have shape \(H, W\), or come with one, got \(6,\)"):
        plot_grid(labels)


def test_a_graph_has_its_edges_and_nodes():
    graph = Graph(np.zeros((3, 1)), [[0, 1], [1, 2]])
    axes = plot_graph(graph, [0, -1, 1], [[0, 0], [1, 0], [1, 1]])
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0, 0], [1, 0]], [[1, 0], [1, 1]]]
    assert len(axes.collections[0].get_offsets()) == 3
    with pytest.raises(ValueError, match=r"places must have shape \(V, 2\) and labels \(V,\)"):
        plot_graph(graph, [0, 1], [[0, 0], [1, 0], [1, 1]])


def test_a_history_has_a_curve_for_each_value_that_is_there():
    records = [{"objective": 3.0, "dual": None, "seconds": {"total": 1.0}},
               {"objective": 2.0, "dual": 1.0, "seconds": {"total": 0.5}}]  # fmt: skip
    axes = plot_history(records)
    curves = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert curves == {"objective": [[1.0, 3.0], [1.5, 2.0]], "dual": [[1.5, 1.0]]}


def test_reliability_has_a_point_for_every_bin_that_holds_anything():
    curve = Reliability.of([[0, 1, 1]], [[[0.95, 0.05], [0.9, 0.1], [0.45, 0.55]]])
    axes = plot_reliability(curve, label="model")
    diagonal, line = axes.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert line.get_xydata().round(3).tolist() == [[0.55, 1.0], [0.925, 0.5]]
    plot_reliability(curve, axes=axes)
    assert len(axes.lines) == 3
