"""
Stereo, with its certificate over time
======================================
Two cameras stand side by side. A near object shifts more between their pictures than a far one; the shift is its
*disparity*. Matching pixel by pixel is noisy. A model in which neighbours prefer similar disparities is a classic of
MAP inference, and too large for an exhaustive search. Here the search reports how far it is from a proof.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.ndimage

from neuralfactors import grid_edges, solve

height = 180  # 60 in tests
width = height * 3 // 2
n_labels = 12
seconds = 20  # 2 in tests

# %%
# The scene: a slanted ground with a box and a ball on it. The right picture is the left one with every pixel moved by
# its disparity, and noise on both.

rng = np.random.default_rng(0)
rows, columns = np.mgrid[:height, :width]
truth = np.round(1 + 4 * rows / height).astype(int)
truth[height // 4 : height * 2 // 3, width // 6 : width * 4 // 9] = 8
truth[np.hypot(rows - 0.53 * height, columns - 0.72 * width) < height / 4] = 11
texture = scipy.ndimage.gaussian_filter(rng.random((height, width + n_labels)), 0.7)
texture = (texture - texture.mean()) / texture.std()
right = texture[:, n_labels:] + 0.4 * rng.normal(size=(height, width))
left = np.take_along_axis(texture, columns + n_labels - truth, axis=1) + 0.4 * rng.normal(size=(height, width))

# %%
# Unary scores compare the two pictures, with a limit so that an occluded pixel cannot decide. The table of all edges
# charges for a difference in disparity, up to a limit, so that objects may have sharp borders.

shifted = np.stack([np.roll(right, d, axis=1) for d in range(n_labels)], axis=-1)  # (H, W, L)
unary = -np.minimum(np.abs(left[..., None] - shifted), 1.2).reshape(-1, n_labels)
steps = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels)))
interaction = -0.35 * np.minimum(steps, 2.0)

# %%
# ``solve`` calls the callback with every better labelling and every lower bound.

history = []
result = solve(
    unary,
    interaction,
    grid_edges(height, width),
    time_limit=seconds,
    callback=lambda *event: history.append(event),
)
print(f"score {result.score:.2f}, bound {result.bound:.2f}, gap {result.gap:.3f}: {result.status}")

# %%
# Most of the way is done at once; the proof takes longer.

alone = unary.argmax(axis=1).reshape(height, width)
joint = result.labels.reshape(height, width)
figure, axes = plt.subplots(2, 2, figsize=(8, 5), layout="constrained")
pictures = {"left picture": left, "truth": truth, "pixel by pixel": alone, "jointly": joint}
for axis, (name, image) in zip(axes.flat, pictures.items(), strict=True):
    right_share = "" if image is left else f": {np.mean(np.abs(image - truth) <= 1):.0%} within one step"
    axis.imshow(image, cmap="gray" if image is left else "magma")
    axis.set_title(f"{name}{right_share}", fontsize=10)
    axis.set_axis_off()

# %%
# Score and bound against time.

times, scores, bounds = np.array(history).T
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.step(times, bounds, where="post", label="bound: no labelling scores more")
axis.step(times, scores, where="post", label="score of the best labelling")
axis.set(xscale="log", xlabel="seconds", ylim=(result.score - 30, result.bound + 30))
axis.grid(alpha=0.3)
axis.legend(frameon=False)
plt.show()
