"""Door 2, scikit-learn: integrated training, bifurcated training as a pipeline, and a grid search.

Run it with `python examples/estimators.py`; it takes about half a minute.
"""

import tempfile

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from neuralfactors.datasets import make_synergy
from neuralfactors.estimators import StructuralSVM, Subgradient, UnaryClassifier


def main():
    X, Y = make_synergy(100, random_state=0)
    X_test, Y_test = make_synergy(100, random_state=1)
    options = {"C": 300.0, "max_iter": 30, "trainer": Subgradient(learning_rate=0.02)}
    interactions = StructuralSVM((), (16,), **options)
    models = {
        "every node by itself": UnaryClassifier((16,)),
        "bifurcated: classifier, then interactions": make_pipeline(UnaryClassifier(), interactions),
        "integrated, linear factors": StructuralSVM((), (), **options),
        "integrated, neural factors": StructuralSVM((16,), (16,), **options),
    }
    for name, model in models.items():
        print(f"{name:45s} {model.fit(X, Y).score(X_test, Y_test):.3f}")

    grid = {"C": [1.0, 300.0], "trainer__learning_rate": [0.02]}
    search = GridSearchCV(StructuralSVM((16,), (16,), max_iter=15), grid, cv=3)
    print("grid search chooses", search.fit(X, Y).best_params_)

    with tempfile.TemporaryDirectory() as folder:
        search.best_estimator_.save(folder)
        again = StructuralSVM.load(folder)
    print(f"read back from disk: {again.score(X_test, Y_test):.3f}")


if __name__ == "__main__":
    main()
