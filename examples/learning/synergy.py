"""
Train all factors together, or one after the other
==================================================
The paper calls it *bifurcated* to train a classifier of nodes first and the interactions on its outputs afterwards, and
*integrated* to train both together. On these chains the two kinds of factors must divide the work: neither can do it
alone, and a classifier trained by itself learns the wrong half.
"""

import tempfile

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from neuralfactors import StructuralSVM, Subgradient, UnaryClassifier
from neuralfactors.datasets import make_synergy

n_chains = 100  # 10 in tests
n_epochs = 30  # 2 in tests
X, Y = make_synergy(n_chains, random_state=0)
X_test, Y_test = make_synergy(n_chains, random_state=1)

# %%
# Bifurcated training is a pipeline of two estimators. Integrated training is one.

options = {"C": 300.0, "max_iter": n_epochs, "trainer": Subgradient(learning_rate=0.02)}
models = {
    "every node by itself": UnaryClassifier((16,)),
    "bifurcated": make_pipeline(UnaryClassifier(), StructuralSVM((), (16,), **options)),
    "integrated, linear": StructuralSVM((), (), **options),
    "integrated, neural": StructuralSVM((16,), (16,), **options),
}
scores = {name: model.fit(X, Y).score(X_test, Y_test) for name, model in models.items()}
for name, score in scores.items():
    print(f"{name:22s} {score:.3f}")

# %%
figure, axis = plt.subplots(figsize=(6, 2.4), layout="constrained")
bars = axis.barh(list(scores), list(scores.values()), color=["C7", "C1", "C2", "C0"])
axis.bar_label(bars, fmt="%.2f", padding=3)
axis.set(xlim=(0, 1.1), xlabel="right on test chains")
axis.invert_yaxis()
plt.show()

# %%
# scikit-learn's searches reach into the parts of an estimator by name. The best model is saved as JSON and safetensors.

grid = {"C": [100.0, 300.0], "trainer__learning_rate": [0.02]}
search = GridSearchCV(StructuralSVM((16,), (16,), max_iter=n_epochs // 2), grid, cv=2).fit(X, Y)
print("grid search chooses", search.best_params_)
with tempfile.TemporaryDirectory() as folder:
    search.best_estimator_.save(folder)
    print(f"read back from disk: {StructuralSVM.load(folder).score(X_test, Y_test):.3f}")
