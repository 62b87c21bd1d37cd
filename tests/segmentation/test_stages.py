"""The estimators of a segmenter: what they take over from it, and the order in which they learn."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.estimators import StructuralSVM, Subgradient, UnaryClassifier
from neuralfactors.segmentation import Segmenter, default_parameters
from neuralfactors.segmentation._defaults import WITH_CNN
from neuralfactors.segmentation._stages import fit_stages, new_stages


@pytest.mark.parametrize(("given", "expected"), [(0, 0), (3, 3), (None, 5)])
def test_whose_seed(given, expected):
    segmenter = Segmenter(random_state=given, estimator=StructuralSVM(random_state=5))
    describer = segmenter.describer(Classes((ClassEntry(0, "a"),)))
    assert segmenter._new_stages(describer, None, 3)[0].random_state == expected
    assert describer.builder.settings.random_state == (given or 0)


@pytest.mark.parametrize("features", ["bow", "cnn"])
def test_default_estimator(features):
    segmenter = Segmenter(features)
    describer = segmenter.describer(Classes((ClassEntry(0, "a"), ClassEntry(1, "b"))))
    known = segmenter._new_stages(describer, None, 40)[0].plain_params()
    cnn = features == "cnn"
    expected = default_parameters(40, WITH_CNN if cnn else {}, cnn=cnn)
    assert {name: known[name] for name in expected} == expected
    assert (known["unary__dropout"] > 0) == cnn


def test_auto_means_the_same_within_a_segmenter():
    model = StructuralSVM(trainer=Subgradient(pretrain=1))
    segmenter = Segmenter(estimator=model)
    describer = segmenter.describer(Classes((ClassEntry(0, "a"), ClassEntry(1, "b"))))
    known = segmenter._new_stages(describer, None, 40)[0].plain_params()
    assert known == {**model.plain_params(), "n_labels": 2}


def test_the_second_stage_learns_from_what_the_first_makes_of_graphs(described):
    _, graphs = described
    model = Pipeline([("unary", UnaryClassifier(max_iter=2)), ("svm", StructuralSVM((), (), max_iter=2))])
    first, second = new_stages(model, len(graphs.X), {"n_labels": 7, "verbose": None}, cnn=False)
    fit_stages([first, second], graphs, (graphs.X, graphs.Y))
    assert second.n_node_features_ == first.n_labels_ == 7
    assert second.history_[-1]["accuracy"] == second.score(first.transform(graphs.X), graphs.Y)


def test_a_stage_keeps_its_own_class_weight():
    weight = [1.0, 2.0]
    (stage,) = new_stages(StructuralSVM(class_weight=weight), 3, {"class_weight": [3.0, 4.0]}, cnn=False)
    assert stage.class_weight == weight
    (stage,) = new_stages(StructuralSVM(), 3, {"class_weight": weight}, cnn=False)
    assert stage.class_weight == weight


@pytest.mark.parametrize("wrong", [LogisticRegression(), Pipeline([(str(n), UnaryClassifier()) for n in range(3)])])
def test_other_estimators_are_refused(wrong):
    with pytest.raises(
        ValueError, match="estimator must be one of the estimators of neuralfactors, or a Pipeline of two of them"
    ):
        new_stages(wrong, 3, {}, cnn=False)
