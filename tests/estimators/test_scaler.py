"""Features become those that scikit-learn makes of all nodes, or all edges, at once; sparse ones stay sparse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from neuralfactors import Graph
from neuralfactors.estimators import GraphScaler, _scaler


def graphs(seed, sparse=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    make = csr_array if sparse else np.asarray
    found = [Graph(np.zeros((0, 3), dtype)), Graph(make(rng.normal(2, 3, size=(1, 3)).astype(dtype)))]
    for n_nodes in (3, 5):
        edges = [[i, i + 1] for i in range(n_nodes - 1)]
        nodes = rng.normal(2, 3, size=(n_nodes, 3)) * (rng.random((n_nodes, 3)) < 0.5)
        features = rng.normal(1, 2, size=(n_nodes - 1, 2)).astype(dtype)
        found.append(Graph(make(nodes.astype(dtype)), edges, features, rng.random(n_nodes)))
    return found


@given(seed=st.integers(0, 2**16), with_mean=st.booleans(), with_std=st.booleans(), block=st.sampled_from([1, 2, 256]))
def test_features_are_those_of_scikit_learn(seed, with_mean, with_std, block):
    X = graphs(seed)
    options = {"with_mean": with_mean, "with_std": with_std}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scaler, "BLOCK", block)
        found = GraphScaler(**options).fit(X)
    for name in ("node_features", "edge_features"):
        rows = np.concatenate([getattr(x, name).reshape(-1, 3 if name == "node_features" else 2) for x in X])
        expected = StandardScaler(**options).fit_transform(rows)
        got = [getattr(x, name) for x in found.transform(X) if getattr(x, name).size]
        np.testing.assert_allclose(np.concatenate(got), expected, atol=1e-9)
    back = found.inverse_transform(found.transform(X))
    assert all(np.allclose(a.node_features, b.node_features) for a, b in zip(X, back, strict=True))
    assert all(a.node_weight is b.node_weight and a.edges is b.edges for a, b in zip(X, back, strict=True))


def test_sparse_features_stay_sparse_and_types_stay():
    X = graphs(0, sparse=True, dtype=np.float32)
    with pytest.raises(ValueError, match=r"node_features are sparse.*use GraphScaler\(with_mean=False\)"):
        GraphScaler().fit(X)
    scaled = GraphScaler(with_mean=False).fit_transform(X)
    dense = GraphScaler(with_mean=False).fit_transform(graphs(0, dtype=np.float32))
    for a, b in zip(scaled[1:], dense[1:], strict=True):
        assert issparse(a.node_features)
        assert a.node_features.dtype == np.float32
        np.testing.assert_allclose(a.node_features.toarray(), b.node_features, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_every_type_is_scaled_by_itself(sparse):
    rng = np.random.default_rng(0)
    blocks = [(rng.normal(5, 3, size=(4, 2)), rng.normal(-2, 7, size=(3, 1))) for _ in range(5)]
    edges = [[0, 1], [1, 2], [4, 3], [5, 6], [0, 4]]
    between = [rng.normal(n, 2, size=(5, 1)) for n in range(5)]
    make = csr_array if sparse else np.asarray
    X = [Graph.of_types(list(map(make, pair)), edges, rows) for pair, rows in zip(blocks, between, strict=True)]
    scaler = GraphScaler(with_mean=not sparse).fit(X)
    scaled = scaler.transform(X)
    plain = StandardScaler(with_mean=not sparse)
    for kind, columns in ((0, 2), (1, 1)):
        expected = plain.fit_transform(np.concatenate([pair[kind] for pair in blocks]))
        got = np.concatenate([_dense(x.node_features)[x.node_types == kind] for x in scaled])
        np.testing.assert_allclose(got[:, :columns], expected, atol=1e-6)
        assert not got[:, columns:].any()  # behind those of a type there is nothing
    of_pair = {(0, 0): [0, 1], (1, 0): [2], (1, 1): [3], (0, 1): [4]}
    for rows in of_pair.values():
        expected = plain.fit_transform(np.concatenate([each[rows] for each in between]))
        np.testing.assert_allclose(np.concatenate([x.edge_features[rows] for x in scaled]), expected, atol=1e-6)
    assert sorted(scaler.scalers_["edge_features"]) == sorted(of_pair)
    for x, back in zip(X, scaler.inverse_transform(scaled), strict=True):
        np.testing.assert_allclose(_dense(back.node_features), _dense(x.node_features), atol=1e-5)
    with pytest.raises(
        ValueError, match=r"X has node_features of nodes with the types \(2,\), but GraphScaler was fitted"
    ):
        scaler.transform([Graph(_dense(X[0].node_features)[:1], node_types=[2])])
    with pytest.raises(
        ValueError, match=r"X has node_features of nodes with no types, but GraphScaler was fitted with \["
    ):
        scaler.transform([Graph(_dense(X[0].node_features)[:1])])


def _dense(rows):
    return rows.toarray() if issparse(rows) else rows


def test_what_does_not_fit_is_refused():
    scaler = GraphScaler()
    with pytest.raises(NotFittedError):
        scaler.transform(graphs(0))
    scaler.fit(graphs(0))
    assert scaler.n_features_in_ == 3
    assert clone(scaler).get_params() == {"with_mean": True, "with_std": True}
    with pytest.raises(ValueError, match="X has 2 node features, but GraphScaler was fitted with 3"):
        scaler.transform([Graph(np.zeros((1, 2)))])
    with pytest.raises(ValueError, match="X has 1 edge features, but GraphScaler was fitted with 2"):
        scaler.transform([Graph(np.zeros((2, 3)), [[0, 1]], [[1.0]])])
    assert scaler.transform([]) == []


def test_means_of_sparse_features_are_refused():
    graph = Graph(csr_array(np.eye(3)), [[0, 1]])
    with pytest.raises(ValueError, match=r"sparse, so centring would fill them: use GraphScaler\(with_mean=False\)"):
        GraphScaler().fit([graph])
    assert issparse(GraphScaler(with_mean=False).fit([graph]).transform([graph])[0].node_features)
