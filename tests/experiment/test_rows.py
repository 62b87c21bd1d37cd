"""Rows of a run: what is computed for one, and how often."""

from work import counting

from neuralfactors.datasets import ImageFolder, folder, write_scenes
from neuralfactors.experiment import Means, train
from neuralfactors.runs import RunConfig, Splits
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import descriptors


def test_each_image_is_decoded_described_and_predicted_once(tmp_path):
    scenes = write_scenes(tmp_path / "scenes", 20, shape=(48, 64))
    data = ImageFolder(scenes)
    n_images, n_test, n_examples = len(data), len(data["test"]), 2
    parameters = {"int+nrl": {"max_iter": 1, "unary__hidden": (8,), "interaction__hidden": (8,)}}
    config = RunConfig(
        str(scenes),
        ("int+nrl",),
        "demo",
        {"n_regions": 30},
        parameters,
        splits=Splits(test="test"),
        n_examples=n_examples,
    )
    work = {
        "decodes": (folder, "read_image"),
        "daisy": (descriptors._kernels, "daisy"),
        "predictions": (Segmenter, "explain_graph"),
        "others": (Segmenter, "label_graph"),
    }
    with counting(**work) as done:
        run = train(config, tmp_path / "run", Means(cache=tmp_path / "cache"))
    # An example is read once more, to be copied into the run folder.
    assert done == {"decodes": n_images + n_examples, "daisy": n_images, "predictions": n_test, "others": 0}
    assert len(list((run / "rows" / "int+nrl" / "predictions").iterdir())) == n_examples
