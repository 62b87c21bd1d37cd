"""More classes than eight bits count, from training to the report."""

import json

import numpy as np
import pytest
from commands import FAST
from PIL import Image

from neuralfactors._runs import RunFolder
from neuralfactors.datasets import ImageFolder


def write_stripes(root, n_classes, n_images=6):
    """A folder of pictures of five stripes, in colours that tell their class; the last class is in each of them."""
    random = np.random.default_rng(0)
    for part in ("images", "labels"):
        (root / part).mkdir(parents=True)
    (root / "classes.txt").write_text("0 void\n" + "".join(f"{k + 1} class {k}\n" for k in range(n_classes)))
    for n in range(n_images):
        stripes = [0, *random.integers(1, n_classes + 1, size=3), n_classes]
        indices = np.repeat(stripes, 8)[:, None].repeat(50, axis=1).astype(np.uint16)
        colours = np.stack([indices % 7 * 36, indices % 11 * 23, indices * 255 // n_classes], axis=2)
        Image.fromarray(indices).save(root / "labels" / f"{n}.png")
        Image.fromarray(colours.astype(np.uint8)).save(root / "images" / f"{n}.png")
    return root


@pytest.fixture(scope="module", params=[256, 300])
def many(request, call, cache, tmp_path_factory):
    """Number of classes, data and a finished run."""
    place = tmp_path_factory.mktemp("many")
    data = write_stripes(place / "data", request.param)
    result = call("train", data, "--out", place / "run", "--cache", cache, *FAST, "--variant", "unary")
    assert result.code == 0, result.err
    return request.param, data, place / "run"


def test_predict_evaluate_and_report(call, many, tmp_path):
    n_classes, data, run = many
    predicted = call("predict", run, data / "images", "--out", tmp_path / "maps")
    assert predicted.code == 0, predicted.err
    indices = np.asarray(Image.open(tmp_path / "maps/0.png"))
    assert 1 <= indices.min() <= indices.max() <= n_classes
    evaluated = call("evaluate", run, data, "--json")
    assert evaluated.code == 0, evaluated.err
    assert len(json.loads(evaluated.out)["per_class"]) == n_classes
    told = call("report", run)
    assert told.code == 0, told.err
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'class="example"' in page
    assert 'id="problems"' not in page


def test_examples_keep_void_apart_from_the_last_class(many):
    n_classes, data, run = many
    (example, *_) = RunFolder(run).examples.read().names
    folder = ImageFolder(data)
    (truth,) = [s.read_labels() for split in folder.splits for s in folder[split] if s.name == example]
    written = np.asarray(Image.open(RunFolder(run).example_truth(example))).astype(int)
    np.testing.assert_array_equal(written, np.where(truth < 0, 65535, truth))
    assert n_classes - 1 in written


def test_an_index_beyond_sixteen_bits_is_refused_at_once(call, cache, tmp_path):
    data = write_stripes(tmp_path / "data", 5)
    (data / "classes.txt").write_text("0 void\n1 sky\n70000 cow\n")
    result = call("train", data, "--out", tmp_path / "run", "--cache", cache, *FAST, "--variant", "unary")
    assert result.code == 1
    assert "classes.txt, line 3: an index must be at most 65535, got 70000" in result.err
    assert not (tmp_path / "run").exists()
