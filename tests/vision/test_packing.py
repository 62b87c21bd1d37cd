"""Arrays in fewer bytes, and back to the bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors.vision._cache import Cache
from neuralfactors.vision._features import rounded
from neuralfactors.vision._packing import pack, unpack

RNG = np.random.default_rng(0)


def size(arrays):
    return sum(array.nbytes for array in arrays.values())


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert other[name].dtype == array.dtype
        np.testing.assert_array_equal(other[name], array)


def test_features_of_fine_regions_take_a_third(tmp_path):
    means, around = RNG.normal(size=(3000, 520)), RNG.normal(size=(250, 704))[RNG.integers(250, size=3000)]
    arrays = {
        "node_features": rounded(np.concatenate([means, around], axis=1).astype(np.float32)),
        "edge_features": RNG.random((8000, 30), dtype=np.float32),
        "edges": RNG.integers(3000, size=(8000, 2)),
        "regions": RNG.integers(3000, size=(200, 300)).astype(np.int32),
        "shape": np.array([200, 300]),
    }
    packed = pack(arrays)
    assert size(packed) < size(arrays) / 3
    assert_same(unpack(packed), arrays)
    cache = Cache(tmp_path)
    assert cache.put("key", packed)
    assert_same(unpack(cache.get("key")), arrays)


@given(seed=st.integers(0, 2**16), n_rows=st.integers(1, 400), n_columns=st.integers(1, 200))
def test_nothing_is_lost(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    floats = rng.normal(size=(n_rows, n_columns)).astype(np.float32) * np.float32(10.0) ** rng.integers(
        -30, 30, n_columns
    )
    floats[:, rng.random(n_columns) < 0.5] = 0.5
    ints = rng.integers(-(2**40) if seed % 2 else 0, 2 ** (8 * (seed % 6)) + 1, (n_rows, n_columns))
    arrays = {"floats": floats, "ints": ints, "small": ints.astype(np.int32), "double": floats.astype(float)}
    assert_same(unpack(pack(arrays)), arrays)


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0, 65505.0])
def test_special_values_stay(special):
    array = np.ones((3000, 5), dtype=np.float32)
    array[7, 2] = special
    found = unpack(pack({"a": array}))["a"]
    np.testing.assert_array_equal(found.view(np.uint32), array.view(np.uint32))


def test_rounding_is_less_than_a_thousandth():
    values = RNG.normal(size=1000).astype(np.float32)
    np.testing.assert_allclose(rounded(values), values, rtol=1e-3)
    assert np.isfinite(rounded(np.array([1e9, -1e9], dtype=np.float32))).all()
    np.testing.assert_array_equal(rounded(rounded(values)), rounded(values))
