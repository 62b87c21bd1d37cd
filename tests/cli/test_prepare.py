"""prepare: the cache that train reads."""

import json

from commands import FAST, refused


def test_prepare_fills_the_cache_that_train_reads(call, scenes, tmp_path):
    cache = tmp_path / "cache"
    result = call("prepare", scenes, "--regions", "30", "--cache", cache, "--jobs", "1", "--json", "--quiet")
    assert result.code == 0, result.err
    assert json.loads(result.out) == {"images": 12, "cache": str(cache)}
    filled = sorted(cache.rglob("*.bin"))
    assert len(filled) == 13  # the words, and a graph an image
    trained = call("train", scenes, "--out", tmp_path / "run", "--cache", cache, *FAST, "--variant", "unary")
    assert trained.code == 0, trained.err
    assert sorted(cache.rglob("*.bin")) == filled


def test_prepare_for_mirror_images(call, scenes, tmp_path):
    cache, options = tmp_path / "cache", ("--regions", "30", "--jobs", "1", "--quiet", "--mirror")
    result = call("prepare", scenes, "--cache", cache, *options)
    assert result.code == 0, result.err
    filled = sorted(cache.rglob("*.bin"))
    assert len(filled) == 1 + 12 + 7  # the words, all images and the mirror images of those to learn from
    more = ("--variant", "unary", "--epochs", "1")
    trained = call("train", scenes, "--out", tmp_path / "run", "--cache", cache, *options, *more)
    assert trained.code == 0, trained.err
    assert sorted(cache.rglob("*.bin")) == filled


def test_images_without_labels_are_told(call, copied_scenes, cache):
    (copied_scenes / "labels" / "scene_0003.png").unlink()
    for path in (copied_scenes / "splits").iterdir():
        path.write_text(path.read_text().replace("scene_0003\n", ""))
    result = call("prepare", copied_scenes, "--regions", "30", "--jobs", "1", "--cache", cache)
    assert result.code == 0, result.err
    assert f"1 of 12 images in {copied_scenes / 'images'} have no label map and are left out" in result.err


def test_disk_full_while_preparing(call, scenes, tmp_path):
    options = ("prepare", scenes, "--regions", "30", "--jobs", "1", "--quiet", "--cache", tmp_path / "cache")
    refused(
        call(*options, max_bytes=9_000), "13 cache entries could not be written", tmp_path / "cache", "free some space"
    )
    assert call(*options).code == 0
