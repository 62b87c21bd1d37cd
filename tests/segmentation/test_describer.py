"""From labelled images to labelled graphs: each image is decoded, described, read and checked once."""

import numpy as np
import pytest
from work import counting

from neuralfactors import Graph
from neuralfactors._common.files import FileFormatError
from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.datasets import _folder as folder
from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.segmentation import Describer
from neuralfactors.segmentation._copies import with_copies
from neuralfactors.segmentation._labelled_images import ArraySample
from neuralfactors.vision import FeatureSettings, WordSettings
from neuralfactors.vision import _builder as builder
from neuralfactors.vision import _descriptors as descriptors
from neuralfactors.vision import _regions as regions
from neuralfactors.vision._cache import Cache

WORK = {
    "decodes": (folder, "read_image"),
    "label maps": (folder, "read_labels"),
    "daisy": (descriptors._kernels, "daisy"),
    "slic": (regions._kernels, "slic"),
    "checks": (Graph, "__init__"),
    "cache reads": (Cache, "get"),
}
SETTINGS = FeatureSettings(n_regions=30, words=WordSettings(node_words=(8, 6), edge_words=(4, 3)))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return ImageFolder(write_scenes(tmp_path_factory.mktemp("scenes"), 12, shape=(48, 64)))


def describe(scenes, samples, **options):
    return Describer(SETTINGS, scenes.classes, **options).learn(samples)


def same(one, two):
    for a, b in zip(one.X, two.X, strict=True):
        np.testing.assert_array_equal(a.node_features, b.node_features)
        np.testing.assert_array_equal(a.edge_features, b.edge_features)
        np.testing.assert_array_equal(a.node_weight, b.node_weight)
    for a, b in zip(one.Y, two.Y, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("mirror", [False, True])
def test_everything_is_done_once(scenes, tmp_path, n_jobs, mirror):
    samples = with_copies(scenes["train"], mirror=mirror)
    n = len(samples)
    with counting(**WORK) as cold:
        first = describe(scenes, samples, cache=tmp_path, n_jobs=n_jobs)
        list(first.X)
    each = dict.fromkeys(("decodes", "label maps", "daisy", "slic", "checks"), n)
    assert cold == {**each, "cache reads": 1}  # which looks for words
    with counting(**WORK) as warm:
        second = describe(scenes, samples, cache=tmp_path, n_jobs=n_jobs)
        list(second.X)
    assert warm == {"decodes": 0, "label maps": n, "daisy": 0, "slic": 0, "checks": n, "cache reads": n + 1}
    same(first, second)
    with counting(**WORK) as uncached:
        same(describe(scenes, samples, n_jobs=n_jobs), first)
    assert uncached == {**each, "cache reads": 0}


def test_images_without_room_for_a_draft_are_described_again(scenes, monkeypatch):
    expected = describe(scenes, scenes["train"])
    monkeypatch.setattr(builder, "DRAFT_MEMORY", 0)
    with counting(**WORK) as work:
        found = describe(scenes, scenes["train"])
    assert work["decodes"] == work["daisy"] == 2 * len(found.X)
    same(found, expected)


def test_a_changed_file_is_described_again(scenes, tmp_path):
    copy = ImageFolder(write_scenes(tmp_path / "scenes", 12, shape=(48, 64)))
    describe(copy, copy["train"], cache=tmp_path / "cache")
    changed = copy["train"][0].image_path
    changed.write_bytes(copy["train"][1].image_path.read_bytes())
    with counting(**WORK) as work:
        found = describe(copy, copy["train"], cache=tmp_path / "cache")
    assert work["decodes"] >= 1
    np.testing.assert_array_equal(found.images[0].regions, found.images[1].regions)


def test_a_mirror_image_is_not_taken_for_its_original(scenes, tmp_path):
    describer = Describer(SETTINGS, scenes.classes, cache=tmp_path)
    describer.learn(scenes["train"])
    original, mirrored = describer.describe(with_copies(scenes["train"][:1], mirror=True)).images
    assert not np.array_equal(original.regions, mirrored.regions)


def test_describing_again_gives_the_same(described):
    describer, train = described
    again = describer.describe(train.samples[:1])
    np.testing.assert_array_equal(again.X[0].node_features, train.X[0].node_features)
    np.testing.assert_array_equal(again.Y[0], train.Y[0])


def test_features_may_stay_as_they_are(described, tmp_path):
    _, scaled = described
    plain = Describer(
        FeatureSettings(n_regions=30, standardise=False), Classes(tuple(ClassEntry(n, str(n)) for n in range(7)))
    )
    graphs = plain.learn(scaled.samples)
    np.testing.assert_array_equal(graphs.X[0].node_features, graphs.images[0].graph.node_features)
    plain.save(tmp_path)
    np.testing.assert_array_equal(
        Describer.load(tmp_path).describe(scaled.samples).X[0].edge_features, graphs.X[0].edge_features
    )


def test_settings_that_are_not_known_are_told(described):
    document, tensors = described[0].state()
    document["settings"]["softness"] = 0.5
    told = "folder has settings that this version does not know: features have no option 'softness': it is 'words__soft"
    with pytest.raises(FileFormatError, match=told):
        Describer.from_state(document, tensors, "folder")


def test_features_must_have_been_learned(scenes):
    with pytest.raises(ValueError, match="the features have not been learned yet: fit the Segmenter first"):
        Describer(SETTINGS, scenes.classes)._scaling()


def test_images_without_any_label_are_refused():
    void = ArraySample("x", np.zeros((20, 20, 3), dtype=np.uint8), np.full((20, 20), -1))
    with pytest.raises(ValueError, match="every pixel of every training image is void: there is no label to learn"):
        Describer(SETTINGS, Classes((ClassEntry(0, "a"),))).learn([void, void])
