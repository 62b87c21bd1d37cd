"""convert: published sets become folders that the other commands read."""

import json

import numpy as np
from commands import refused
from PIL import Image


def test_convert(call, tmp_path):
    from neuralfactors.datasets._convert import MSRC21

    rng = np.random.default_rng(0)
    for part in ("Images", "GroundTruth"):
        (tmp_path / "published" / part).mkdir(parents=True)
    indices = rng.integers(0, 22, size=(9, 12))
    colours = np.array([colour for _, colour in MSRC21], dtype=np.uint8)
    Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)).save(tmp_path / "published/Images/1_1_s.bmp")
    Image.fromarray(colours[indices]).save(tmp_path / "published/GroundTruth/1_1_s_GT.bmp")
    result = call("convert", "msrc21", tmp_path / "published", tmp_path / "set", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["images"] == 1
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "set/labels/1_1_s.png")), indices)


def test_convert_of_an_unknown_set(call, tmp_path):
    refused(call("convert", "imagenet", tmp_path, tmp_path / "out"), "'imagenet'", "siftflow")
