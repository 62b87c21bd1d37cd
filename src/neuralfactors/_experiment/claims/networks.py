"""The bifurcated solution as one network: a regression, its probabilities, and linear factors of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuralfactors.estimators import UnaryClassifier


class OnRegression(nn.Module):
    """Unary scores of node features: a linear factor of the class probabilities of a regression, of `weight` (L, D).

    With the regression frozen it is the paper's bifurcated training; else the same function, trained as a whole.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.regression = nn.Linear(weight.shape[1], weight.shape[0])
        self.regression.weight.data.copy_(weight)
        self.regression.bias.data.copy_(bias)
        self.factor = nn.Linear(weight.shape[0], weight.shape[0])
        nn.init.zeros_(self.factor.weight)
        nn.init.zeros_(self.factor.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Scores (V, L) of features (V, D)."""
        scores: Tensor = self.factor(torch.softmax(self.regression(features), dim=1))
        return scores

    def freeze(self, frozen: bool) -> None:
        """Let the regression stay as it is, or learn."""
        self.regression.requires_grad_(not frozen)


def on_regression(first: UnaryClassifier) -> OnRegression:
    """The network on top of a fitted logistic regression, which it copies."""
    state = first.model_.unary.state_dict()
    return OnRegression(state["weight"], state["bias"])
