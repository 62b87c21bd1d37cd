"""Door 1, torch: any network gives the potentials, `StructuredHingeLoss` trains it with inference in the loop.

Run it with `python examples/torch_loss.py`; it takes a few seconds.
"""

import torch
from torch import nn

from neuralfactors import GraphBatch, Potentials
from neuralfactors.datasets import make_grids
from neuralfactors.learning import StructuredHingeLoss

N_LABELS = 3


class Network(nn.Module):
    """A network of one's own: node and edge features in, potentials out."""

    def __init__(self):
        super().__init__()
        self.nodes = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, N_LABELS))
        self.edges = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, N_LABELS**2))

    def forward(self, batch):
        unary = self.nodes(batch.node_features)
        interaction = self.edges(batch.edge_features).view(-1, N_LABELS, N_LABELS)
        return Potentials(unary, interaction, batch.edges, batch.node_ptr, batch.edge_ptr)


def main():
    torch.manual_seed(0)
    X, Y = make_grids(60)
    batch, y = GraphBatch.from_graphs(X[:40]), torch.cat([torch.from_numpy(y) for y in Y[:40]])
    held, y_held = GraphBatch.from_graphs(X[40:]), torch.cat([torch.from_numpy(y) for y in Y[40:]])
    network, loss = Network(), StructuredHingeLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(60):
        optimizer.zero_grad()
        value = loss(network(batch), y)
        value.backward()
        optimizer.step()
        if step % 10 == 9:
            told = f"{loss.report.differing:.0%} of nodes differ, {loss.report.optimal:.0%} proved optimal"
            print(f"step {step + 1:3d}  hinge {value.item():7.3f}  {told}")
    potentials = network(held)
    alone = (potentials.unary.argmax(1) == y_held).float().mean()
    y_pred = loss.decoder(potentials).labels
    print(f"accuracy on held-out grids: nodes alone {alone:.3f}, jointly {(y_pred == y_held).float().mean():.3f}")


if __name__ == "__main__":
    main()
