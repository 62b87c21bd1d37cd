"""
A CNN end to end
================
One convolutional network makes all potentials of a picture: scores for each patch of 8 × 8 pixels, and a table for
each pair of neighbouring patches. :meth:`Potentials.grid <neuralfactors.Potentials.grid>` puts them together,
:class:`~neuralfactors.StructuredHingeLoss` trains everything with inference in the loop.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from neuralfactors import Potentials, StructuredHingeLoss
from neuralfactors.datasets import SCENE_CLASSES, make_scenes

n_train = 80  # 8 in tests
n_test = 30  # 4 in tests
n_epochs = 15  # 1 in tests
N_LABELS, PATCH = len(SCENE_CLASSES), 8

# %%
# Pictures (B, 3, H, W), and the label that most pixels of each patch have (B, h, w).

scenes = make_scenes(n_train + n_test, shape=(64, 96))
images = torch.stack([torch.from_numpy(image).permute(2, 0, 1) / 255 - 0.5 for image, _ in scenes])
labels = np.stack([label_map for _, label_map in scenes])
patches = labels.reshape(len(scenes), 64 // PATCH, PATCH, 96 // PATCH, PATCH).swapaxes(2, 3)
counts = (patches.reshape(*patches.shape[:3], -1, 1) == np.arange(N_LABELS)).sum(axis=3)
y = torch.from_numpy(counts.argmax(axis=-1))

# %%
# The network. Its receptive field is small on purpose: it sees what a patch looks like, not where it lies. The tables
# of edges come from the features of both patches.


class PatchNetwork(nn.Module):
    """Pictures in, potentials out."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AvgPool2d(4),
        )  # fmt: skip
        self.nodes = nn.Linear(32, N_LABELS)
        self.across, self.down = (nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, N_LABELS**2)) for _ in "ad")

    def forward(self, images):
        features = self.features(images).permute(0, 2, 3, 1)  # (B, h, w, 32)
        across = self.across(torch.cat([features[:, :, :-1], features[:, :, 1:]], dim=-1))
        down = self.down(torch.cat([features[:, :-1], features[:, 1:]], dim=-1))
        tables = (part.unflatten(-1, (N_LABELS, N_LABELS)) for part in (across, down))
        return Potentials.grid(self.nodes(features), *tables)


# %%
# The loop is that of any network. Where a label is −1 it would carry no loss.


def train(loss):
    """The network, trained by a loss of potentials and labels."""
    torch.manual_seed(0)
    network = PatchNetwork()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(n_epochs):
        for part in torch.randperm(n_train).split(8):
            optimizer.zero_grad()
            loss(network(images[part]), y[part]).backward()
            optimizer.step()
    return network.eval()


def patch_by_patch(potentials, y):
    """Cross-entropy of the nodes, whatever the edges say."""
    return nn.functional.cross_entropy(potentials.unary, y.flatten())


alone, joint = train(patch_by_patch), train(StructuredHingeLoss())
with torch.no_grad():
    found = {
        "patch by patch": alone(images[n_train:]).unary.argmax(1).view(y[n_train:].shape),
        "jointly": joint(images[n_train:]).argmax(),
    }
for name, labels_found in found.items():
    print(f"{name}: {(labels_found == y[n_train:]).double().mean():.3f} of the patches")

# %%
figure, axes = plt.subplots(3, 4, figsize=(10, 5), layout="constrained")
for k, line in enumerate(axes):
    maps = [y[n_train + k], *(labels_found[k] for labels_found in found.values())]
    line[0].imshow(scenes[n_train + k][0])
    for axis, picture in zip(line[1:], maps, strict=True):
        axis.imshow(picture, cmap="tab10", vmin=0, vmax=9)
    for axis in line:
        axis.set_axis_off()
for axis, name in zip(axes[0], ("image", "truth", *found), strict=True):
    axis.set_title(name)
plt.show()
