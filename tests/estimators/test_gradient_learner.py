"""What estimators trained by gradients share: a history, callbacks, and refusals of what cannot be."""

import numpy as np
import pytest
from learners import FAST, make
from sklearn.base import clone

from neuralfactors import Graph
from neuralfactors.estimators import StructuralSVM, TensorBoard


def test_history_and_callbacks(chains):
    seen = []
    stop = [seen.append, lambda record: record["epoch"] == 3]
    svm = make(StructuralSVM, (), (), batch_size=None, callbacks=stop, **FAST).fit(*chains)
    assert len(seen) == len(svm.history_) == 3
    assert {"objective", "hinge", "gap", "optimal", "negative", "differing", "accuracy", "seconds"} <= set(seen[0])
    assert seen[0]["hinge"] == pytest.approx(6.0)  # nothing is learned yet: every node is wrong


def test_tensorboard_log(chains, tmp_path):
    pytest.importorskip("tensorboard")
    svm = make(StructuralSVM, (), (), callbacks=[TensorBoard(tmp_path / "log")], **FAST).fit(*chains)
    assert len(list(tmp_path.glob("log/events.out.tfevents*"))) == 1
    clone(svm).set_params(callbacks=[TensorBoard(tmp_path / "other")]).fit(*chains)  # a log that was closed is copied
    assert list(tmp_path.glob("other/events.out.tfevents*"))


def test_progress_bar(chains, capsys):
    make(StructuralSVM, (), (), verbose=1, **FAST).fit(*chains)
    assert "objective" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, r'C must be positive and finite, or "auto", got 0.0'),
        ({"trainer__learning_rate": -1.0}, "learning_rate must be positive and finite"),
        ({"C": "much"}, "C must be positive and finite, or \"auto\", got 'much'"),
        ({"trainer__momentum": 1.0}, "momentum must be at least 0 and below 1"),
        ({"max_iter": 0}, "max_iter must be an integer ≥ 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer ≥ 1, got 2.5"),
        ({"trainer__keep": "first"}, r"keep must be one of \['objective', 'validation', 'last'\], got 'first'"),
        ({"void": "keep"}, "void must be one of"),
        ({"trainer__schedule": "linear"}, r"schedule must be one of \['inverse', 'constant', 'cosine'\], got 'linear'"),
        ({"trainer__optimizer": "newton"}, "optimizer must be one of .* or a callable, got 'newton'"),
        ({"trainer__averaging": "yes"}, r"averaging must be None or one of \['linear', 'uniform'\], got 'yes'"),
        ({"class_weight": "equal"}, "class_weight must be None, \"balanced\", a dict or an array, got 'equal'"),
        ({"class_weight": [1.0]}, r"class_weight needs 3 entries, one per label, got shape \(1,\)"),
        ({"class_weight": {5: 1.0}}, "class_weight names 5, which is none of the 3 classes"),
        ({"unary__hidden": 16}, r"hidden must be a sequence with the units of each layer, got 16: try \(16,\)"),
        ({"n_labels": 2}, "Y must contain labels below n_labels=2, got 2"),
        ({"trainer__dtype": "float16"}, r"dtype must be one of \['float32', 'float64'\], got 'float16'"),
        ({"random_state": -1}, "random_state must be None, a numpy Generator or RandomState, or an integer"),
        ({"trainer__keep": "validation"}, r'keep="validation" needs validation data: pass validation=\(X, Y\) to fit'),
        ({"trainer__validation_fraction": 0.001}, "validation_fraction=0.001 of .* graphs leaves none"),
        ({"trainer__t0": -1.0}, "t0 must be a finite number ≥ 0, got -1.0"),
        ({"trainer__averaging": ""}, r"averaging must be None or one of \['linear', 'uniform'\], got ''"),
        ({"decoder__tol": -1.0}, "tol must be a finite number, at least 0, got -1.0"),
        ({"decoder__method": "magic"}, "method"),
        ({"decoder": "icm"}, "decoder must be None or a Decoder, got 'icm'"),
    ],
)
def test_bad_parameters_are_refused(chains, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(StructuralSVM, (), (), **{**FAST, **arguments}).fit(*chains)


def test_a_trainer_must_be_one(chains):
    with pytest.raises(ValueError, match="trainer must be None or a Subgradient, got 'adam'"):
        StructuralSVM(trainer="adam").fit(*chains)


def test_bad_data_are_refused(chains):
    X, Y = chains
    svm = make(StructuralSVM, (), (), **FAST)
    cases = [
        (X, Y[:-1], "Y needs one label vector per graph: expected 30, got 29"),
        ([], [], "X must contain at least one Graph, got none"),
        (X[0], Y, "X must be a sequence with one entry per graph, got Graph"),
        ([x.node_features for x in X], Y, "X must contain neuralfactors.Graph objects, got ndarray at position 0"),
        (X, [y[:-1] for y in Y], r"Y\[0\] needs one label per node: expected shape \(6,\), got \(5,\)"),
        (X, [y.astype(float) for y in Y], r"Y\[0\] must contain integers, got dtype float64"),
        (X, [np.full(6, -1)] * 30, r"Y must label at least one node, but all nodes are void \(-1\)"),
    ]
    for graphs, labels, message in cases:
        with pytest.raises(ValueError, match=message):
            svm.fit(graphs, labels)
    svm.fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 node features, but StructuralSVM was fitted with 3"):
        svm.predict([Graph(np.ones((2, 2)))])
    with pytest.raises(ValueError, match="X must be a list of graphs, got a Graph"):
        svm.predict(X[0])
    with pytest.raises(ValueError, match="X must be a sequence with one entry per graph, got generator"):
        svm.predict(x for x in X)
    with pytest.raises(ValueError, match="Y needs one label vector per graph"):
        svm.score(X, Y[:-1])
    with pytest.raises(ValueError, match="Y must be a sequence with one entry per graph, got NoneType"):
        svm.score(X, None)
    assert svm.predict([]) == []
