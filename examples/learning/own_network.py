"""
Put the structured loss on your network
=======================================
Any network that makes potentials can be trained: scores of labels for the nodes, tables of label pairs for the edges.
:class:`~neuralfactors.StructuredHingeLoss` finds the most violating labelling of the whole batch in one call and
returns a loss with gradients for every parameter.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from neuralfactors import GraphBatch, Potentials, StructuredHingeLoss, decode
from neuralfactors.datasets import make_grids
from neuralfactors.plots import plot_grid

n_steps = 60  # 5 in tests
N_LABELS = 3


class Network(nn.Module):
    """Node and edge features in, potentials out."""

    def __init__(self):
        super().__init__()
        self.nodes = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, N_LABELS))
        self.edges = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, N_LABELS**2))

    def forward(self, batch):
        unary = self.nodes(batch.node_features)
        interaction = self.edges(batch.edge_features).view(-1, N_LABELS, N_LABELS)
        return Potentials(unary, interaction, batch.edges, batch.node_ptr, batch.edge_ptr)


# %%
# ``GraphBatch.collate`` also serves as ``collate_fn`` of a ``DataLoader``.

pairs = list(zip(*make_grids(60), strict=True))
train, held_out = GraphBatch.collate(pairs[:40]), GraphBatch.collate(pairs[40:])

torch.manual_seed(0)
network, loss = Network(), StructuredHingeLoss()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
curve = []
for _ in range(n_steps):
    optimizer.zero_grad()
    value = loss(network(train), train.y)
    value.backward()
    optimizer.step()
    curve.append(value.item())

# %%
# The loss reports how far inference could be trusted: which share of the graphs was solved to a proof.

print(f"hinge {curve[-1]:.3f}; inference proved optimal on {loss.report.optimal:.0%} of the graphs")
with torch.no_grad():
    potentials = network(held_out)
found = {"nodes alone": potentials.unary.argmax(1), "jointly": decode(potentials)}
for name, labels in found.items():
    print(f"{name}: {(labels == held_out.y).double().mean():.3f} on held-out grids")

# %%
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
axes[0].plot(curve)
axes[0].set(xlabel="step", ylabel="structured hinge")
for axis, (name, labels) in zip(axes[1:], {"truth": held_out.y, **found}.items(), strict=True):
    plot_grid(labels[:64], (8, 8), axes=axis)
    axis.set_title(name)
plt.show()
