import numpy as np

from neuralfactors.datasets import ImageFolder
from neuralfactors.datasets._writing import write_pictures


def test_what_was_written_is_read_again(tmp_path):
    rng = np.random.default_rng(0)
    pictures = [(rng.integers(0, 256, (4, 5, 3), dtype=np.uint8), rng.integers(-1, 2, (4, 5))) for _ in range(5)]
    folder = ImageFolder(write_pictures(tmp_path, pictures, {"a": (1, 2, 3), "b": (4, 5, 6)}, "each", seed=0))
    assert folder.classes.names == ["a", "b"]
    assert {split: len(names) for split, names in folder.splits.items()} == {"train": 3, "val": 1, "test": 1}
    for sample in folder["train+val+test"]:
        image, labels = pictures[int(sample.name.removeprefix("each_"))]
        np.testing.assert_array_equal(sample.read_image(), image)
        np.testing.assert_array_equal(sample.read_labels(), labels)
