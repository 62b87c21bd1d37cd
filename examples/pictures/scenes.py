"""
Segment images end to end
=========================
Sky and water look alike in these drawings, and so do boats and balloons. Only the layout separates them.
:class:`~neuralfactors.Segmenter` takes pictures and label maps. It finds regions, describes them, and learns to label
them jointly.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import Segmenter
from neuralfactors.datasets import SCENE_CLASSES, colour_labels, make_scenes

n_train = 40  # 6 in tests
n_test = 10

# %%
# ``make_scenes`` returns pairs of image (H, W, 3) and label map (H, W). For pictures of your own, pass an
# :class:`~neuralfactors.datasets.ImageFolder`.

scenes = make_scenes(n_train + n_test)
segmenter = Segmenter("bow", classes=SCENE_CLASSES).fit(scenes[:n_train])
print(f"test scenes: {segmenter.score(scenes[n_train:]):.3f} of the pixels right")

# %%
# ``explain`` shows the parts of the model: labels by the unary factors alone, which see every region by itself, and
# labels by all factors together. ``confidence`` says how sure the model is of each pixel.

palette = (255 * plt.get_cmap("tab10")(range(len(SCENE_CLASSES)))[:, :3]).astype(np.uint8)
figure, axes = plt.subplots(3, 5, figsize=(11, 5), layout="constrained")
for line, (image, truth) in zip(axes, scenes[n_train:], strict=False):
    parts = segmenter.explain(image)
    maps = [colour_labels(labels, palette) for labels in (truth, parts.unary, parts.joint)]
    for axis, picture in zip(line, [image, *maps, segmenter.confidence(image)], strict=True):
        axis.imshow(picture, **({"cmap": "gray", "vmin": 0, "vmax": 1} if picture.ndim == 2 else {}))
        axis.set_axis_off()
for axis, name in zip(axes[0], ("image", "truth", "unary", "joint", "confidence"), strict=True):
    axis.set_title(name)
plt.show()
