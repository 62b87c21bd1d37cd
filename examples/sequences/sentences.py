"""
Nodes of two types: words and their sentence
============================================
Words have tags, a sentence has a topic. The same word means different things under different topics, and the topic
shows only in a few words. Both are labelled together: :meth:`Graph.of_types <neuralfactors.Graph.of_types>` takes the
features type by type, and every type has its own labels, unary factor and interactions.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuralfactors import Graph, StructuralSVM, chain_edges

n_train = 100  # 20 in tests
n_test = 100
n_epochs = 30  # 2 in tests
N_WORDS, N_TAGS, N_TOPICS, LENGTH = 30, 4, 3, 10

# %%
# The first twenty words have a tag that depends on the topic; the last ten always have the same, and each occurs
# mostly in one topic.

rng = np.random.default_rng(0)
meaning = rng.integers(N_TAGS, size=(N_TOPICS, N_WORDS))
meaning[:, 20:] = meaning[0, 20:]


def write_sentence():
    """Words (T,), their tags (T,) and the topic of a sentence."""
    topic = rng.integers(N_TOPICS)
    telling = rng.choice(np.arange(20, N_WORDS)[topic::N_TOPICS], size=LENGTH)
    words = np.where(rng.random(LENGTH) < 0.15, telling, rng.integers(20, size=LENGTH))
    return words, meaning[topic, words], topic


sentences = [write_sentence() for _ in range(n_train + n_test)]

# %%
# A node for each word, and one more for the sentence, joined to all words. The feature of an edge to the sentence is
# its word, so the table of that edge can learn what the word means under each topic.


def as_graph(words):
    """Words in a chain, and a node of a second type that is joined to all of them."""
    to_sentence = np.stack([np.arange(LENGTH), np.full(LENGTH, LENGTH)], axis=1)
    edges = np.concatenate([chain_edges(LENGTH), to_sentence])
    features = np.concatenate([np.zeros((LENGTH - 1, N_WORDS)), np.eye(N_WORDS)[words]])
    return Graph.of_types([np.eye(N_WORDS)[words], np.ones((1, 1))], edges, features)


X = [as_graph(words) for words, _, _ in sentences]
Y = [np.append(tags, topic) for _, tags, topic in sentences]
typed = StructuralSVM((), (), n_labels=[N_TAGS, N_TOPICS], max_iter=n_epochs).fit(X[:n_train], Y[:n_train])

# %%
# The same words in a plain chain, which knows no topics, for comparison.

chains = [Graph(np.eye(N_WORDS)[words], chain_edges(LENGTH)) for words, _, _ in sentences]
plain = StructuralSVM((), (), max_iter=n_epochs).fit(chains[:n_train], [y[:-1] for y in Y[:n_train]])

found, truth = np.stack(typed.predict(X[n_train:])), np.stack(Y[n_train:])
right = {
    "tags, chain alone": plain.score(chains[n_train:], list(truth[:, :-1])),
    "tags, with a topic": np.mean(found[:, :-1] == truth[:, :-1]),
    "topics": np.mean(found[:, -1] == truth[:, -1]),
}
for name, share in right.items():
    print(f"{name}: {share:.3f} right")

figure, axis = plt.subplots(figsize=(6, 2.2), layout="constrained")
bars = axis.barh(list(right), list(right.values()), color=["C7", "C0", "C1"])
axis.bar_label(bars, fmt="%.2f", padding=3)
axis.set(xlim=(0, 1.1), xlabel="right on test sentences")
axis.invert_yaxis()
plt.show()
