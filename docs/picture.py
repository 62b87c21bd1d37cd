"""Draw docs/scenes.png, the picture of the README: python docs/picture.py."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

from neuralfactors import Segmenter, UnaryClassifier
from neuralfactors.datasets import ImageFolder, colour_labels, write_scenes

N_SCENES, SHOWN = 150, 3
REGRESSION = UnaryClassifier((), C=100.0, max_iter=50)


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = ImageFolder(write_scenes(folder, N_SCENES))
        alone, together = (Segmenter("bow", estimator=e).fit(data["train"]) for e in (REGRESSION, None))
        samples = [(sample.read_image(), sample.read_labels()) for sample in data["test"][:SHOWN]]
    names, palette = data.classes.names, data.classes.palette
    heads = ["image", "truth", "every region by itself", "jointly, with context"]
    figure, axes = plt.subplots(SHOWN, len(heads), figsize=(10, 2 * SHOWN), layout="constrained")
    for line, (image, truth) in zip(axes, samples, strict=True):
        maps = [truth, alone.predict_one(image), together.predict_one(image)]
        for axis, shown in zip(line, [image, *(colour_labels(labels, palette) for labels in maps)], strict=True):
            axis.imshow(shown)
            axis.set_axis_off()
    for axis, head in zip(axes[0], heads, strict=True):
        axis.set_title(head, fontsize=10)
    patches = [Patch(color=np.asarray(colour) / 255, label=name) for name, colour in zip(names, palette, strict=True)]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(names), frameon=False, fontsize=9)
    figure.savefig(Path(__file__).with_name("scenes.png"), dpi=90)


if __name__ == "__main__":
    main()
