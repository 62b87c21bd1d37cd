"""Networks in ONNX files: the maps of one that torch computes too, its identity, and files that are refused."""

import base64
import pickle
import sys

import numpy as np
import pytest
import torch
from pictures import FEW_WORDS, IMAGES, assert_same_graphs
from torch.nn.functional import conv2d

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import FeatureBuilder, FeatureSettings, OnnxBackbone
from neuralfactors.vision._backbones import load_backbone
from neuralfactors.vision._network_identity import is_portrayed, portrait

# Two convolutions of one pixel at stride 2, whose outputs are coarse and fine, in this order.
DYNAMIC = base64.b64decode(
    "CAg6+AEKIQoBeAoBYRIBZiIEQ29udioQCgdzdHJpZGVzQAJAAqABBwohCgFmCgFiEgFjIgRDb252KhAKB3N0cmlkZXNAAkACoAEHEgFnKicIAggD"
    "CAEIARABQgFhShgAAEA/AACAPgAAAAAAAAC/AAAAvwAAgL8qJwgDCAIIAQgBEAFCAWJKGAAAgL8AAIC/AABAvwAAQD8AAIA+AACAP1odCgF4EhgK"
    "FggBEhIKAggBCgIIAwoDEgFoCgMSAXdiHQoBYxIYChYIARISCgIIAQoCCAMKAxIBcAoDEgFxYh0KAWYSGAoWCAESEgoCCAEKAggCCgMSAXIKAxIB"
    "c0IECgAQEQ=="
)
SIZED = base64.b64decode(  # the same for pictures of 16 × 24 only
    "CAg69gEKIQoBeAoBYRIBZiIEQ29udioQCgdzdHJpZGVzQAJAAqABBwohCgFmCgFiEgFjIgRDb252KhAKB3N0cmlkZXNAAkACoAEHEgFnKicIAggD"
    "CAEIARABQgFhShgAAEA/AACAPgAAAAAAAAC/AAAAvwAAgL8qJwgDCAIIAQgBEAFCAWJKGAAAgL8AAIC/AABAvwAAQD8AAIA+AACAP1obCgF4EhYK"
    "FAgBEhAKAggBCgIIAwoCCBAKAggYYh0KAWMSGAoWCAESEgoCCAEKAggDCgMSAXAKAxIBcWIdCgFmEhgKFggBEhIKAggBCgIIAgoDEgFyCgMSAXNC"
    "BAoAEBE="
)
WEIGHTS = (np.array([3, 1, 0, -2, -2, -4]) / 4, np.array([-4, -4, -3, 3, 1, 4]) / 4)
pytestmark = pytest.mark.filterwarnings(
    "ignore:The regions, about", "ignore:The model has learnt hardly more", "ignore:StructuralSVM"
)


@pytest.fixture
def file(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (tmp_path / "a.onnx").write_bytes(DYNAMIC)
    return tmp_path / "a.onnx"


def test_maps_are_those_of_the_network_finest_first(file):
    picture = torch.rand(1, 3, 9, 14, generator=torch.manual_seed(0))
    first, second = (torch.tensor(w, dtype=torch.float32) for w in WEIGHTS)
    fine = conv2d(picture, first.reshape(2, 3, 1, 1), stride=2)
    found = OnnxBackbone(file)(picture)
    torch.testing.assert_close(found[0], fine)
    torch.testing.assert_close(found[1], conv2d(fine, second.reshape(3, 2, 1, 1), stride=2))


def test_a_network_of_one_size_sees_resized_pictures(file):
    file.write_bytes(SIZED)
    assert [tuple(m.shape) for m in OnnxBackbone(file)(torch.zeros(1, 3, 50, 30))] == [(1, 2, 8, 12), (1, 3, 4, 6)]


def test_it_is_known_by_its_file(file, tmp_path):
    network = OnnxBackbone(file)
    (tmp_path / "moved.onnx").write_bytes(DYNAMIC)
    (tmp_path / "other.onnx").write_bytes(SIZED)
    assert is_portrayed(OnnxBackbone(tmp_path / "moved.onnx"), portrait(network))
    assert not is_portrayed(OnnxBackbone(tmp_path / "other.onnx"), portrait(network))
    assert is_portrayed(pickle.loads(pickle.dumps(network)), portrait(network))


def test_graphs_by_its_path(file, tmp_path):
    settings = FEW_WORDS.to_dict() | {"features": "cnn", "backbone": str(file)}
    by_path = FeatureBuilder(FeatureSettings(**settings), cache=tmp_path / "cache").fit(IMAGES)
    by_module = FeatureBuilder(FeatureSettings(**settings), backbone=OnnxBackbone(file)).fit(IMAGES)
    assert_same_graphs(by_path.transform(IMAGES[0]), by_module.transform(IMAGES[0]))
    assert load_backbone(str(file)) is load_backbone(str(file))


def test_a_model_needs_the_same_file(file, tmp_path):
    scenes = make_scenes(3, shape=(48, 64))
    settings = FeatureSettings("cnn", n_regions=20, backbone=str(file))
    estimator = StructuralSVM((4,), (4,), max_iter=1)
    fitted = Segmenter(settings, estimator=estimator, classes=SCENE_CLASSES).fit(scenes)
    fitted.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_one(scenes[0][0]), fitted.predict_one(scenes[0][0]))
    moved = file.rename(tmp_path / "moved.onnx")
    load_backbone.cache_clear()
    with pytest.raises(ValueError, match=r"a\.onnx does not exist"):
        Segmenter.load(tmp_path / "model")
    Segmenter.load(tmp_path / "model", backbone=OnnxBackbone(moved))
    file.write_bytes(SIZED)
    with pytest.raises(ValueError, match="was trained with another backbone"):
        Segmenter.load(tmp_path / "model")


@pytest.mark.parametrize("content", [b"", b"no network", DYNAMIC[:100]])
def test_damaged_files_are_refused_by_one_sentence(file, content):
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"the backbone .*a\.onnx could not be read") as caught:
        OnnxBackbone(file)
    assert "\n" not in str(caught.value)


def test_the_package_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"needs the package onnxruntime: pip install 'neuralfactors\[onnx\]'"):
        OnnxBackbone(tmp_path / "a.onnx")
