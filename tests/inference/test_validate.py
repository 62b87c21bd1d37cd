"""Bad input gets one sentence that says what is wrong and where."""

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from neuralfactors.inference import BatchResult, Result, _kernels, solve, solve_batch
from neuralfactors.inference._validate import check_problem, share_work

UNARY = np.zeros((3, 2))
TABLES = np.zeros((2, 2, 2))
EDGES = np.array([[0, 1], [1, 2]])

# Endings and beginnings that several messages share.
FINITE = ": scores must be finite, or -inf where a label is forbidden"
UNARY_SHAPE = "unary must have the shape (n_nodes, n_labels) with at least one label, got "
TABLE_SHAPE = (
    "interaction must have the shape (n_edges, n_labels, n_labels) = (2, 2, 2), "
    "or (2, 2) for a table that all edges share, got "
)
EDGE_SHAPE = "edges must be integers of the shape (n_edges, 2), got the shape "
INIT = "init must contain an integer label for each of the 3 nodes, got the shape "
SEED = "random_state must be None, a numpy Generator or RandomState, or an integer from 0 to 2**63 - 1, got "
METHOD = "method must be one of auto, alpha-expansion, trws, bp, icm, tree, maxflow, exact, exhaustive, got "


def with_entry(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unary": np.zeros((3, 0))}, UNARY_SHAPE + "(3, 0)"),
        ({"unary": np.zeros(3)}, UNARY_SHAPE + "(3,)"),
        ({"unary": np.zeros((3, 2), complex)}, "unary must be of type float32, float64 or integer, got complex128"),
        (
            {"interaction": [[[0.0, 1.0], [2.0]]]},
            "interaction must be an array of numbers, but its rows differ in length",
        ),
        ({"interaction": np.zeros((3, 2, 2))}, TABLE_SHAPE + "(3, 2, 2)"),
        ({"interaction": np.broadcast_to(np.eye(2), (7, 2, 2))}, TABLE_SHAPE + "(7, 2, 2)"),
        ({"interaction": np.zeros((2, 2, 3))}, TABLE_SHAPE + "(2, 2, 3)"),
        (
            {"interaction": np.zeros((2, 2, 2), np.float16)},
            "interaction must be of type float32, float64 or integer, got float16",
        ),
        ({"edges": np.zeros((2, 3), int)}, EDGE_SHAPE + "(2, 3) and type int64"),
        ({"edges": np.zeros((2, 2))}, EDGE_SHAPE + "(2, 2) and type float64"),
        ({"edges": [[0, 1], [1, 3]]}, "edges[1] is (1, 3), but the nodes of its graph are numbered 0 to 2"),
        ({"edges": [[0, 1], [-1, 2]]}, "edges[1] is (-1, 2), but the nodes of its graph are numbered 0 to 2"),
        ({"unary": with_entry(UNARY, (2, 1), np.nan)}, "unary[2, 1] is NaN" + FINITE),
        ({"unary": with_entry(UNARY, (0, 0), np.inf)}, "unary[0, 0] is +inf" + FINITE),
        ({"interaction": with_entry(TABLES, (1, 0, 1), np.nan)}, "interaction[1, 0, 1] is NaN" + FINITE),
        ({"interaction": with_entry(TABLES, (0, 1, 1), np.inf)}, "interaction[0, 1, 1] is +inf" + FINITE),
        (
            {"interaction": with_entry(TABLES, (0, 1, 0), -1e201)},
            "interaction[0, 1, 0] is beyond 1e200, the largest size of a score",
        ),
        ({"method": "magic"}, METHOD + "'magic'"),
        ({"init": [0, 1]}, INIT + "(2,) and type int64"),
        ({"init": [0.0, 1.0, 0.0]}, INIT + "(3,) and type float64"),
        ({"init": [0, 1, 2]}, "init[2] is 2, but labels run from 0 to 1"),
        ({"init": [0, -1, 1]}, "init[1] is -1, but labels run from 0 to 1"),
        ({"tol": -1.0}, "tol must be a finite number, at least 0, got -1.0"),
        ({"tol": 10**400}, f"tol must be a finite number, at least 0, got {10**400}"),
        ({"tol": float("nan")}, "tol must be a finite number, at least 0, got nan"),
        ({"tol": "small"}, "tol must be a finite number, at least 0, got 'small'"),
        ({"random_state": -1}, SEED + "-1"),
        ({"random_state": "x"}, SEED + "'x'"),
        ({"time_limit": 0}, "time_limit must be None or a positive number of seconds, got 0"),
        ({"time_limit": float("nan")}, "time_limit must be None or a positive number of seconds, got nan"),
        (
            {"method": "tree", "time_limit": 1},
            "method 'tree' always runs to the end and does not accept time_limit, got 1",
        ),
        (
            {"method": "exact", "time_limit": "1 s"},
            "time_limit must be None or a positive number of seconds, got '1 s'",
        ),
        ({"factors": np.zeros((1, 2))}, "factors must be a list of pairs (nodes, table), got ndarray"),
        ({"factors": 3}, "factors must be a list of pairs (nodes, table), got int"),
        ({"max_iter": 2**31}, "max_iter must be None or an integer from 1 to 2**31 - 1, got 2147483648"),
        ({"max_iter": 0}, "max_iter must be None or an integer from 1 to 2**31 - 1, got 0"),
        ({"method": "bp", "reduced_costs": True}, "reduced_costs needs method auto, trws, tree, got 'bp'"),
        ({"method": "tree", "edges": [[0, 1], [1, 0]], "unary": np.zeros((2, 2))}, None),
    ],
)
def test_solve_refuses(change, message):
    arguments = {"unary": UNARY, "interaction": TABLES, "edges": EDGES, **change}
    if message is None:
        assert solve(**arguments).status == "optimal"  # parallel edges are one edge: no cycle
        return
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        solve(**arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_is_refused_by_every_method_and_precision(dtype):
    unary = with_entry(UNARY.astype(dtype), (1, 1), np.nan)
    for method in ("auto", "alpha-expansion", "trws", "bp", "icm", "tree", "maxflow", "exhaustive"):
        with pytest.raises(ValueError, match=r"unary\[1, 1\] is NaN"):
            solve(unary, TABLES.astype(dtype), EDGES, method=method)


def test_methods_say_what_they_cannot_take():
    triangle = (np.zeros((3, 3)), np.zeros((3, 3, 3)), [[0, 1], [1, 2], [2, 0]])
    with pytest.raises(ValueError, match="method 'tree' needs a graph without cycles, but this one has a cycle"):
        solve(*triangle, method="tree")
    with pytest.raises(ValueError, match="method 'maxflow' needs at most 2 labels, got 3"):
        solve(*triangle, method="maxflow")
    frustrated = (np.zeros((3, 2)), np.stack([1 - np.eye(2)] * 3), [[0, 1], [1, 2], [2, 0]])
    with pytest.raises(ValueError, match="method 'maxflow' needs submodular tables"):
        solve(*frustrated, method="maxflow")
    with pytest.raises(ValueError, match="method 'exhaustive' accepts at most 1e8 labellings"):
        solve(np.zeros((30, 2)), np.zeros((0, 2, 2)), [], method="exhaustive")


def test_pointers_cannot_change_after_their_check():
    node_ptr, edge_ptr = np.array([0, 1, 3]), np.array([0, 0, 2])
    problem = check_problem(UNARY, TABLES, EDGES, node_ptr, edge_ptr)
    node_ptr[1] = edge_ptr[1] = 10**12  # as another thread may, while the kernel is at work
    assert problem.node_ptr.tolist() == [0, 1, 3]
    assert problem.edge_ptr.tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_ptr": [0, 2]}, "node_ptr must rise from 0 to 3, the number of nodes, got 0 to 2"),
        ({"node_ptr": [0, 4, 3]}, "node_ptr must rise from 0 to 3, the number of nodes, got 0 to 3"),
        ({"node_ptr": [0.0, 3.0]}, "node_ptr must be a vector of integers, got the shape (2,) and type float64"),
        ({"edge_ptr": [0, 1, 2]}, "node_ptr and edge_ptr must have the same length, got 2 and 3"),
        ({"edge_ptr": []}, "edge_ptr must be a vector of integers, got the shape (0,) and type float64"),
        (
            {"node_ptr": [0, 1, 3], "edge_ptr": [0, 1, 2]},
            "edges[0] is (0, 1), but the nodes of its graph are numbered 0 to 0",
        ),
        ({"node_ptr": None}, "node_ptr must be a vector of integers, got the shape () and type object"),
        ({"n_threads": 0}, "n_threads must be None or an integer from 1 to 2**31 - 1, got 0"),
        ({"n_threads": True}, "n_threads must be None or an integer from 1 to 2**31 - 1, got True"),
        (
            {"method": "tree", "edges": [[0, 1], [1, 2]], "unary": with_entry(UNARY, (2, 0), np.nan)},
            "unary[2, 0] is NaN" + FINITE,
        ),
    ],
)
def test_solve_batch_refuses(change, message):
    arguments = {
        "unary": UNARY,
        "interaction": TABLES,
        "edges": EDGES,
        "node_ptr": [0, 3],
        "edge_ptr": [0, 2],
        **change,
    }
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        solve_batch(**arguments)


def test_the_first_bad_graph_of_a_batch_is_named_whatever_the_threads():
    n_graphs = 50
    unary = np.zeros((3 * n_graphs, 2))
    unary[[3 * 11 + 1, 3 * 40]] = np.nan
    tables, edges = np.tile(TABLES, (n_graphs, 1, 1)), np.concatenate([EDGES + 3 * g for g in range(n_graphs)])
    for n_threads in (1, 2, 4):
        with pytest.raises(ValueError, match=r"unary\[34, 0\] is NaN"):
            solve_batch(
                unary, tables, edges, 3 * np.arange(n_graphs + 1), 2 * np.arange(n_graphs + 1), n_threads=n_threads
            )


def test_an_empty_batch_is_fine():
    rs = solve_batch(np.zeros((0, 2)), np.zeros((0, 2, 2)), [], [0], [0])
    assert isinstance(rs, BatchResult)
    assert (len(rs), list(rs), rs.labels.shape) == (0, [], (0,))
    with pytest.raises(IndexError, match="graph 0 does not exist: this batch has 0"):
        rs[0]


def test_kernel_checks_what_it_is_given():
    good = {
        "unary": UNARY.ravel(),
        "interaction": TABLES.ravel(),
        "edges": EDGES,
        "node_ptr": np.array([0, 3]),
        "edge_ptr": np.array([0, 2]),
        "n_labels": 2,
        "row_ptr": None,
        "table_ptr": None,
    }
    call = {
        "method": "auto",
        "tol": 1e-4,
        "seed": 0,
        "max_iter": 0,
        "time_limit": np.inf,
        "init": None,
        "n_threads": 1,
        "callback": None,
        "labels": np.zeros(3, np.int64),
        "score": np.zeros(1),
        "bound": np.zeros(1),
        "status": np.zeros(1, np.int8),
        "iterations": np.zeros(1, np.int32),
        "reduced_costs": None,
    }
    graphs = _kernels.GraphsFloat64(**good)
    graphs.solve(**call)
    for name, value in {
        "unary": np.zeros(7),
        "interaction": np.zeros(12),
        "n_labels": 0,
        "row_ptr": np.array([0, 2, 4, 6]),
        "edges": np.zeros((2, 3), np.int64),
        "node_ptr": np.array([0, 2]),
        "edge_ptr": np.array([1, 2]),
    }.items():
        with pytest.raises(ValueError, match=r"\w+"):
            _kernels.GraphsFloat64(**{**good, name: value})
    for name, value in {
        "labels": np.zeros(2, np.int64),
        "score": np.zeros(2),
        "method": "magic",
        "init": np.array([0, 1, 2]),
        "reduced_costs": np.zeros(9),
    }.items():
        with pytest.raises(ValueError, match=r"\w+"):
            graphs.solve(**{**call, name: value})
    with pytest.raises(ValueError, match="labels is out of range"):
        graphs.judge(np.array([0, 1, 2]), np.inf, 0.0)
    for name, value in {
        "unary": UNARY.astype(np.float32).ravel(),
        "interaction": np.zeros(16)[::2],
        "edges": EDGES.astype(np.int32),
    }.items():
        with pytest.raises(TypeError):
            _kernels.GraphsFloat64(**{**good, name: value})
    with pytest.raises(TypeError):
        graphs.solve(**{**call, "labels": np.zeros(3, np.int32)})
    check_places(good)


def check_places(good):
    """Sizes of their own: nodes with 1, 2 and 3 labels."""
    ragged = good | {"n_labels": 3, "row_ptr": np.array([0, 1, 3, 6]), "table_ptr": np.array([0, 2, 8])}
    _kernels.GraphsFloat64(**ragged)
    for name, value in {
        "n_labels": 2,
        "row_ptr": np.array([0, 0, 3, 6]),
        "table_ptr": np.array([0, 3, 8]),
        "interaction": np.zeros(9),
    }.items():
        with pytest.raises(ValueError, match=r"\w+"):
            _kernels.GraphsFloat64(**{**ragged, name: value})
    for places in ({"row_ptr": None}, {"table_ptr": np.array([0, 2])}, {"row_ptr": np.array([0, 1, 6])}):
        with pytest.raises(ValueError, match=r"\w+"):
            _kernels.GraphsFloat64(**(ragged | places))


def test_numpy_scalars_are_numbers():
    r = solve(UNARY, TABLES, EDGES, tol=np.int64(0), max_iter=np.int32(3), random_state=np.uint8(1))
    assert r.status == "optimal"


def test_views_and_read_only_arrays_are_accepted():
    rng = np.random.default_rng(0)
    unary, tables = rng.standard_normal((6, 4))[::2, ::2], rng.standard_normal((2, 2, 2))
    tables.flags.writeable = False
    expected = solve(unary.copy(), tables.copy(), EDGES)
    result = solve(unary, tables, EDGES.astype(np.int32))
    assert isinstance(result, Result)
    assert (result.labels == expected.labels).all()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX here")
@pytest.mark.parametrize(
    "call",
    [
        "solve(u, t, e, method='exhaustive')",
        "solve_batch(u, t, e, [0, 26], [0, 0], n_threads=2, method='exhaustive')",
        # The long one is in the hands of a thread that does not hear of signals.
        "solve_batch(np.zeros((29, 2)), t, e, [0, 26, 27, 28, 29], [0] * 5, n_threads=4, method='exhaustive')",
    ],
)
def test_ctrl_c_ends_a_long_solve(call):
    code = (
        "import numpy as np\nfrom neuralfactors.inference import solve, solve_batch\n"
        "u, t, e = np.zeros((26, 2)), np.zeros((0, 2, 2)), np.zeros((0, 2), int)\n"
        f"print('ready', flush=True)\n{call}\nprint('finished')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert "finished" not in out
    assert "KeyboardInterrupt" in err


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory, so that threads run out")
def test_more_threads_than_the_system_has_are_no_error():
    code = (
        "import resource\nimport numpy as np\nfrom neuralfactors.inference import solve_batch\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))\n"
        "u, t, n = np.zeros((1000, 2)), np.zeros((0, 2, 2)), np.arange(1001)\n"
        "print(len(solve_batch(u, t, [], n, 0 * n, n_threads=900)))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert (process.returncode, process.stdout) == (0, "1000\n"), process.stderr


def test_small_forests_are_not_worth_a_thread():
    assert share_work(4, n_nodes=10, n_edges=9, n_entries=1000) == 1
    assert share_work(4, n_nodes=10, n_edges=9, n_entries=50_000) == 3
    assert share_work(4, n_nodes=10, n_edges=9, n_entries=10**7) == 4
    assert share_work(4, n_nodes=10, n_edges=10, n_entries=1000) == 4
