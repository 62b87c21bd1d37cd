"""
Points without edges
====================
A point is a graph of one node, so on points the learners are binary and multi-class SVMs. This page is a check, not a
recommendation: scikit-learn has faster SVMs.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from neuralfactors import CuttingPlaneSVM, FrankWolfeSVM, StructuralSVM, point_graphs

n_digits = 900  # 100 in tests
n_epochs = 30  # 2 in tests
learners = {
    "LinearSVC": None,
    "CuttingPlaneSVM": CuttingPlaneSVM(slack="1", max_iter=n_epochs, tol=0.1),
    "FrankWolfeSVM": FrankWolfeSVM(max_iter=n_epochs, tol=0.1),
    "StructuralSVM": StructuralSVM((), (), max_iter=n_epochs),
}


def compare(X, y):
    """Test accuracy of every learner on half of the points."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    scores = {"LinearSVC": LinearSVC().fit(X_train, y_train).score(X_test, y_test)}
    for name in list(learners)[1:]:
        fitted = learners[name].fit(point_graphs(X_train), y_train[:, None])
        scores[name] = fitted.score(point_graphs(X_test), y_test[:, None])
    return scores


digits, numbers = (values[:n_digits] for values in load_digits(return_X_y=True))
sets = {
    "iris": load_iris(return_X_y=True),
    "digits": (digits / 16, numbers),
    "digits, below 5 or not": (digits / 16, (numbers < 5).astype(int)),
}
scores = {name: compare(*data) for name, data in sets.items()}

figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
for k, name in enumerate(learners):
    places = [n + 0.2 * k for n in range(len(scores))]
    axis.bar(places, [score[name] for score in scores.values()], width=0.18, label=name)
axis.set_xticks([n + 0.3 for n in range(len(scores))], list(scores))
axis.set(ylim=(0.5, 1.0), ylabel="test accuracy")
axis.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.2))
for name, row in scores.items():
    print(f"{name}: " + ", ".join(f"{learner} {score:.3f}" for learner, score in row.items()))
plt.show()
