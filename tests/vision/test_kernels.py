"""The extension on its own: arrays of a wrong shape or type are refused, never read."""

import numpy as np
import pytest

from neuralfactors.vision import _kernels

IMAGE = np.zeros((4, 5, 3), dtype=np.uint8)
LINEAR = np.zeros(256, dtype=np.float32)
LAB = np.zeros((3, 4, 5), dtype=np.float32)
LABELS = np.zeros((4, 5), dtype=np.int32)
SEEDS = np.array([[1, 1]], dtype=np.int64)
GREY = np.zeros((9, 9), dtype=np.float32)
RING = ([1.0, 0.5], [(0, 0), (2, -2)])


def slic(lab=LAB, seeds=SEEDS, reach=(2, 2), labels=LABELS):
    _kernels.slic(lab, seeds, reach, 0.1, 2, labels)


def daisy(rings=(RING,), origin=(2, 2), stride=1, shape=(5, 5, 16)):
    _kernels.daisy(GREY, list(rings), origin, stride, np.zeros(shape, dtype=np.float32))


def merge(edges=((0, 1),), areas=(1.0, 2.0), colours=((0.0,) * 3,) * 2, size=2):
    target = np.zeros(size, dtype=np.int32)
    ends = np.array(edges, dtype=np.int64).reshape(len(edges), -1)
    _kernels.merge_alike(ends, np.array(areas), np.array(colours), 1, 10.0, 0.0, target)
    return target.tolist()


def test_good_arguments_are_taken():
    slic()
    assert merge() == [0, 0]
    daisy()
    _kernels.rgb_to_lab(IMAGE, LINEAR, 1.0, LAB)
    assert _kernels.connect_regions(LABELS, 1, 100, LABELS.copy()) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: slic(lab=np.zeros((2, 4, 5), dtype=np.float32)), "lab must have the shape"),
        (lambda: merge(edges=((0, 2),)), "edges must join two different regions"),
        (lambda: merge(edges=((1, 1),)), "edges must join two different regions"),
        (lambda: merge(edges=((0, 1, 1),)), "edges must have the shape"),
        (lambda: merge(areas=(1.0, 0.0)), "areas must be positive"),
        (lambda: merge(colours=((0.0,) * 2,) * 2), "colours must have three entries per region"),
        (lambda: merge(size=3), "target must have one entry per region"),
        (lambda: slic(seeds=np.zeros((0, 2), dtype=np.int64)), "seeds must have the shape"),
        (lambda: slic(seeds=np.array([[4, 0]])), "seeds must lie within lab"),
        (lambda: slic(seeds=np.array([[0, -1]])), "seeds must lie within lab"),
        (lambda: slic(reach=(0, 2)), "reach must be positive"),
        (lambda: slic(labels=np.zeros((5, 4), dtype=np.int32)), "labels must have the shape"),
        (lambda: _kernels.rgb_to_lab(IMAGE[..., :2].copy(), LINEAR, 1.0, LAB), "image must have the shape"),
        (lambda: _kernels.rgb_to_lab(IMAGE, LINEAR[:9], 1.0, LAB), "linear must have 256 entries"),
        (lambda: _kernels.rgb_to_lab(IMAGE, LINEAR, 1.0, LAB[:2]), "lab must have the shape"),
        (lambda: _kernels.rgb_to_hsv_cone(IMAGE, LAB), "cone must have the shape"),
        (lambda: _kernels.connect_regions(LABELS, 1, 0, LABELS.copy()), "largest must be positive"),
        (lambda: _kernels.connect_regions(LABELS, 1, 9, LABELS[:2].copy()), "regions must have the shape"),
        (lambda: daisy(stride=0), "stride must be positive"),
        (lambda: daisy(origin=(2, 1)), "every histogram must lie within grey"),
        (lambda: daisy(origin=(3, 2)), "every histogram must lie within grey"),
        (lambda: daisy(rings=[([], [(0, 0)])]), "a ring needs a kernel"),
        (lambda: daisy(shape=(5, 5, 8)), "wrong last dimension"),
    ],
)
def test_wrong_shapes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: slic(lab=LAB.astype(np.float64)),
        lambda: slic(seeds=SEEDS.astype(np.int32)),
        lambda: slic(lab=LAB.transpose(0, 2, 1)),
        lambda: slic(labels=LABELS.astype(np.int64)),
        lambda: _kernels.rgb_to_lab(IMAGE.astype(np.int32), LINEAR, 1.0, LAB),
    ],
)
def test_wrong_types_are_refused(call):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call()
