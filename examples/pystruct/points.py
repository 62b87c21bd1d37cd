"""Binary and multi-class SVMs (plot_binary_svm, multi_class_svm): every point is a graph of one node."""

from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split

from neuralfactors import CuttingPlaneSVM, FrankWolfeSVM, StructuralSVM, point_graphs


def compare(name, X, y, learners):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    for learner in learners:
        learner.fit(point_graphs(X_train), y_train[:, None])
        print(f"{name}, {type(learner).__name__}: {learner.score(point_graphs(X_test), y_test[:, None]):.3f}")


def main(quick=False):
    compare("iris", *load_iris(return_X_y=True), [CuttingPlaneSVM(slack="1"), StructuralSVM((), ())])
    X, y = load_digits(return_X_y=True)
    n = 100 if quick else len(X)
    compare("digits", X[:n] / 16, y[:n], [FrankWolfeSVM(tol=0.1, max_iter=30)])
    compare("digits, below 5 or not", X[:n] / 16, (y[:n] < 5).astype(int), [FrankWolfeSVM(tol=0.1, max_iter=30)])


if __name__ == "__main__":
    main()
