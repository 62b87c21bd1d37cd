"""
Denoise a picture
=================
A third of the pixels of a picture were replaced at random. The model knows two things: a pixel probably has the colour
that is seen, and neighbours probably have the same colour. :func:`~neuralfactors.solve` finds the best picture under
both, and proves that there is no better one.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import grid_edges, solve

height, width, n_colours = 60, 90, 4
y, x = np.mgrid[-1 : 1 : height * 1j, -1.5 : 1.5 : width * 1j]
picture = np.minimum(np.hypot(y, x) / 0.3, n_colours - 1).astype(int)

rng = np.random.default_rng(0)
spoilt = rng.random(picture.shape) < 1 / 3
noisy = np.where(spoilt, rng.integers(n_colours, size=picture.shape), picture)

# %%
# The unary scores are 1 for the colour that is seen and 0 for the others. All edges of the grid share one table, which
# gives 0.6 where neighbours agree.

unary = np.eye(n_colours)[noisy.ravel()]  # (V, L)
interaction = 0.6 * np.eye(n_colours)  # (L, L)
result = solve(unary, interaction, grid_edges(height, width))
restored = result.labels.reshape(picture.shape)
print(f"score {result.score:.1f}, bound {result.bound:.1f}: {result.status}")

# %%
# The score weighs both against each other. Where noise happens to agree with its neighbours, the best picture keeps it.

figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="constrained")
for axis, (name, image) in zip(axes, {"truth": picture, "seen": noisy, "restored": restored}.items(), strict=True):
    axis.imshow(image, cmap="viridis")
    axis.set_title(f"{name}: {np.mean(image == picture):.0%} right")
    axis.set_axis_off()
