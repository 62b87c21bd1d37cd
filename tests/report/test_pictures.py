"""Pictures of examples, and the colours of classes."""

import base64
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from neuralfactors._report import read_results
from neuralfactors._report.pictures import palette, shown_examples
from neuralfactors._runs import ClassInfo, RunFolder


def test_colours_of_a_palette_all_differ():
    infos = [ClassInfo(str(k), (255, 255, 250)) for k in range(600)]
    assert len(set(palette(infos))) == 601


def decoded(uri):
    kind, data = uri.removeprefix("data:").split(";base64,")
    return kind, Image.open(BytesIO(base64.b64decode(data)))


@pytest.mark.parametrize("colours", [[(0, 0, 0)] * 5, [(255, 255, 255)] * 3, [(20, 20, 24), (236, 236, 240)]])
def test_equal_colours_are_told_apart(colours):
    found = palette([ClassInfo(str(k), colour) for k, colour in enumerate(colours)])
    assert len(set(found)) == len(found) == len(colours) + 1
    assert found[0] == colours[0]
    assert all(0 <= value <= 255 for colour in found for value in colour)


def test_maps_are_read_back_label_by_label(make_run):
    results = read_results(make_run(rows=("SGD", "int+nrl")))
    colours = np.array(palette(results.run.classes))
    for shown in shown_examples(results):
        assert [layer.key for layer in shown.layers] == ["truth", "SGD", "int+nrl"]
        for layer in shown.layers:
            kind, picture = decoded(layer.uri)
            assert (kind, picture.size) == ("image/png", shown.size)
        truth = np.asarray(decoded(shown.layer("truth").uri)[1].convert("RGB"))
        written = np.asarray(Image.open(results.folder.example_truth(shown.name)))
        np.testing.assert_array_equal(truth, colours[np.minimum(written, 3)])
        predicted = np.asarray(decoded(shown.layer("SGD").uri)[1].convert("RGB"))
        counted = written != 255
        assert shown.layer("SGD").accuracy == pytest.approx((predicted == truth).all(axis=2)[counted].mean())
        assert shown.gain == pytest.approx(shown.layer("int+nrl").accuracy - shown.layer("SGD").accuracy)


def test_the_largest_gain_comes_first(make_run):
    gains = [shown.gain for shown in shown_examples(read_results(make_run()))]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.parametrize("size", [(1200, 800), (500, 1000)])
def test_large_pictures_are_made_small(make_run, size):
    run = RunFolder(make_run(rows=("SGD",)))
    name = run.examples.read().names[0]
    Image.new("RGB", size, (1, 2, 3)).save(run.example_image(name))
    Image.new("L", size, 1).save(run.example_truth(name))
    run.row("SGD").prediction(name).unlink()
    (shown,) = [each for each in shown_examples(read_results(run.path)) if each.name == name]
    assert max(shown.size) == 480
    kind, picture = decoded(shown.image)
    assert (kind, picture.size) == ("image/jpeg", shown.size)
    assert shown.gain is None


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b"no picture"), "picture"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), ""),
        (lambda path: path.unlink(), "is missing"),
        (lambda path: Image.new("RGB", (60, 40)).save(path), "one channel"),
        (lambda path: Image.new("L", (40, 60)).save(path), "not the picture's size"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/hostname")), "outside the run folder"),
    ],
)
def test_examples_that_cannot_be_shown_are_named(make_run, spoil, words):
    run = RunFolder(make_run(rows=("SGD",)))
    name = run.examples.read().names[0]
    spoil(run.example_truth(name))
    results = read_results(run.path)
    assert name not in [shown.name for shown in shown_examples(results)]
    assert any(name in problem and words in problem for problem in results.problems)
