"""Pictures of other depths and channels: learnt from, predicted, saved, never mixed with others."""

import numpy as np
import pytest

from neuralfactors import StructuralSVM
from neuralfactors.datasets import CELL_CLASSES, ImageFolder, make_cells, write_cells
from neuralfactors.segmentation import ArraySample, PreparedImage, Segmenter
from neuralfactors.segmentation._labelled_images import image_source
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._sources import image_key

CELLS = make_cells(3, shape=(64, 64))
pytestmark = pytest.mark.filterwarnings("ignore:The regions, about", "ignore:The model has learnt hardly more")


def new(**options):
    settings = FeatureSettings(n_regions=40)
    return Segmenter(settings, estimator=StructuralSVM((8,), (8,), max_iter=3), classes=CELL_CLASSES, **options)


KINDS = {
    "12 bits in files of 16": lambda image: image[..., 0].astype(np.uint16) * 16,
    "floats": lambda image: image.astype(np.float32) / 255,
    "two channels": lambda image: np.stack([image[..., 0], 255 - image[..., 0] // 2], axis=2),
    "seven channels": lambda image: image[..., :1] * np.arange(1, 8, dtype=np.uint16),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_learnt_from_and_labelled(make, tmp_path):
    pairs = [(make(image), labels) for image, labels in CELLS]
    fitted = new(mirror=True, cache=tmp_path / "cache").fit(pairs)
    image, labels = pairs[0]
    found = fitted.predict_one(image)
    assert found.shape == labels.shape
    fitted.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict([PreparedImage(image)])[0], found)
    assert loaded.explain(image).picture().dtype == np.uint8
    with pytest.raises(ValueError, match=r"the training images have .* but this image has 3 channels of 8 bits"):
        loaded.predict_one(CELLS[0][0])


def test_how_bright_a_camera_is_means_nothing():
    maps = []
    for factor in (16, 200):
        pairs = [(image[..., 0].astype(np.uint16) * factor, labels) for image, labels in CELLS]
        maps.append(new().fit(pairs).predict_one(pairs[0][0]))
    assert (maps[0] == maps[1]).mean() > 0.98


def test_regions_are_chosen_for_them_too():
    pairs = [(image[..., 0].astype(np.uint16) * 16, labels) for image, labels in CELLS]
    fitted = Segmenter(estimator=StructuralSVM((8,), (8,), max_iter=1), classes=CELL_CLASSES).fit(pairs)
    assert fitted.describer_.builder.settings.n_regions > 0


def test_grey_arrays_of_eight_bits_are_plain():
    image, labels = CELLS[0]
    grey = ArraySample("grey", image[..., 0], labels)
    assert grey.image.shape == (64, 64, 3)


def test_pages_of_a_file(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    data = write_cells(tmp_path / "data", 3, shape=(64, 64))
    names = sorted(path.stem for path in (data / "images").iterdir())
    for part, options in (("images", {}), ("labels", {})):
        pages = [np.asarray(sample) for sample in (_read(data / part / f"{name}.png") for name in names)]
        for name in names:
            (data / part / f"{name}.png").unlink()
        tifffile.imwrite(data / part / "stack.tif", np.stack(pages), photometric="minisblack", **options)
    for path in (data / "splits").iterdir():
        path.unlink()
    with pytest.raises(ValueError, match=r"stack\.tif has 3 pages"):
        ImageFolder(data)["train"][0].read()
    folder = ImageFolder(data, pages="pictures")
    samples = [sample for split in folder.splits for sample in folder[split]]
    assert {sample.name for sample in samples} == {f"stack-00{n}" for n in range(3)}
    assert len({image_key(image_source(sample)) for sample in samples}) == 3
    for sample in samples:
        sample.check()
        assert sample.read()[0].shape == (64, 64, 3)
    whole = ImageFolder(data, pages="channels")["train"][0]
    assert whole.read_image().shape == (64, 64, 3)
    with pytest.raises(ValueError, match="pages must be 'channels' or 'pictures', got 'slices'"):
        ImageFolder(data, pages="slices")


def _read(path):
    from PIL import Image

    picture = Image.open(path)
    return picture if picture.mode == "P" else picture.convert("L")


@pytest.mark.parametrize(("usual", "odd"), [(np.uint8, np.uint16), (np.uint16, np.uint8)])
def test_a_picture_unlike_the_others_is_named(usual, odd, tmp_path):
    from PIL import Image

    data = write_cells(tmp_path / "cells", 5, shape=(48, 48))
    last = ImageFolder(data).splits["train"][-1]
    for path in (data / "images").iterdir():
        grey = np.asarray(Image.open(path).convert("L")).astype(odd if path.stem == last else usual)
        Image.fromarray(grey).save(path)
    with pytest.raises(ValueError, match=rf"images.{last}\.png: the training images have .* but this image has "):
        new().fit(ImageFolder(data))
