"""Graphs of many images: what is computed, and what is read from the cache."""

import logging

from pictures import FEW_WORDS, IMAGES, assert_same_graphs

from neuralfactors.vision import FeatureBuilder


def test_a_damaged_cache_entry_is_rebuilt(tmp_path, builder, caplog):
    cached = FeatureBuilder(FEW_WORDS, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    for path in tmp_path.rglob("*.bin"):
        path.write_bytes(path.read_bytes()[:-5])
    with caplog.at_level(logging.WARNING):
        assert_same_graphs(cached[2], builder.transform(IMAGES[2]))
    assert "is damaged" in caplog.text
    caplog.clear()
    assert_same_graphs(cached[2], builder.transform(IMAGES[2]))  # it was written again
    assert not caplog.text


def test_without_room_for_the_cache_the_work_goes_on(tmp_path, builder):
    (tmp_path / "file").write_text("")
    graphs = FeatureBuilder(FEW_WORDS, cache=tmp_path / "file").fit(IMAGES).transform_many(IMAGES)
    assert_same_graphs(graphs[1], builder.transform(IMAGES[1]))
