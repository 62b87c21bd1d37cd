"""Estimators in files: parameters and parts come back, modules are asked for, and nothing else is let in."""

import numpy as np
import pytest
import torch
from learners import FAST, make, parameters
from torch import nn

from neuralfactors import Graph
from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import load_model, save_model
from neuralfactors.estimators import (
    Checkpoint,
    Decoder,
    FrankWolfeSVM,
    Network,
    StructuralSVM,
    StructuredEstimator,
    Subgradient,
    UnaryClassifier,
    load,
)


def test_save_and_load(chains, tmp_path):
    X, Y = chains
    svm = make(StructuralSVM, (4,), (4,), interaction__symmetric=True, class_weight=np.ones(3), **FAST).fit(X, Y)
    svm.save(tmp_path / "run")
    for kind in (StructuralSVM, StructuredEstimator):
        again = kind.load(tmp_path / "run")
        assert torch.equal(parameters(again), parameters(svm))
        assert again.history_ == svm.history_
        assert all((a == b).all() for a, b in zip(again.predict(X), svm.predict(X), strict=True))
    with pytest.raises(FileFormatError, match="contains a 'StructuralSVM', not a UnaryClassifier"):
        UnaryClassifier.load(tmp_path / "run")


def test_a_file_with_unknown_parameters_is_refused(chains, tmp_path):
    make(StructuralSVM, (), (), **FAST).fit(*chains).save(tmp_path)
    document, tensors = load_model(tmp_path)
    document["parameters"]["colour"] = "blue"
    kept = ("class", "parameters", "omitted", "fitted", "history")
    save_model(tmp_path, {key: document[key] for key in kept}, tensors)
    with pytest.raises(FileFormatError, match=r"parameters that StructuralSVM does not know: \['colour'\]"):
        StructuralSVM.load(tmp_path)


def test_folders_of_other_things_are_refused(tmp_path):
    save_model(tmp_path, {"class": "Segmenter"}, {})
    with pytest.raises(FileFormatError, match="contains a 'Segmenter', not an estimator"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("history", None, "does not have the entry 'history' of a model"),
        ("fitted", None, "does not have the entry 'fitted' of a model"),
        ("parameters", [1], "has an entry of the wrong type"),
        ("fitted", 3, "has an entry of the wrong type"),
    ],
)
def test_a_file_without_an_entry_or_with_another_is_refused(chains, tmp_path, entry, value, message):
    document, tensors = make(StructuralSVM, (), (), **{**FAST, "max_iter": 1}).fit(*chains).state()
    changed = {name: kept for name, kept in document.items() if name != entry or value is not None}
    save_model(tmp_path, {**changed, **({} if value is None else {entry: value})}, tensors)
    with pytest.raises(FileFormatError, match=message) as caught:
        load(tmp_path)
    assert "Error" not in str(caught.value)


def test_a_file_cannot_say_where_to_write(chains, tmp_path):
    svm = make(StructuralSVM, (), (), **FAST).fit(*chains)
    svm.set_params(callbacks=[Checkpoint(tmp_path / "place")]).save(tmp_path / "model")
    assert StructuralSVM.load(tmp_path / "model").callbacks is None
    document, tensors = svm.state()
    document["parameters"]["callbacks"] = [str(tmp_path / "place")]
    save_model(tmp_path / "model", document, tensors)
    with pytest.raises(FileFormatError, match=r"parameters that StructuralSVM does not know: \['callbacks'\]"):
        StructuralSVM.load(tmp_path / "model")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there(chains, tmp_path):
    with pytest.raises(ValueError, match="device must be available on this machine, such as 'cpu', got 'cuda'"):
        make(StructuralSVM, (), (), trainer__device="cuda", **FAST).fit(*chains)
    svm = make(StructuralSVM, (), (), **FAST).fit(*chains)
    svm.set_params(trainer__device="cuda").save(tmp_path)
    with pytest.raises(ValueError, match=f"{tmp_path} could not be loaded: device must be available"):
        StructuralSVM.load(tmp_path)
    assert torch.equal(parameters(StructuralSVM.load(tmp_path, trainer__device="cpu")), parameters(svm))


def test_numpy_scalars_among_the_parameters_are_saved(chains, tmp_path):
    options = {**FAST, "C": np.float64(10.0), "class_weight": (np.float32(0.5), 1.0, 1.0, 2.0)}
    svm = make(StructuralSVM, (np.int64(3),), [np.int32(2)], n_labels=np.int64(4), **options).fit(*chains)
    svm.save(tmp_path)
    again = StructuralSVM.load(tmp_path)
    assert (again.unary.hidden, again.interaction.hidden, again.n_labels_, again.C) == ((3,), (2,), 4, 10.0)
    assert again.class_weight == (0.5, 1.0, 1.0, 2.0)
    assert torch.equal(parameters(again), parameters(svm))


def test_class_weights_in_a_tensor_are_saved(chains, tmp_path):
    make(StructuralSVM, (), (), class_weight=torch.tensor([0.5, 1.0, 2.0]), **FAST).fit(*chains).save(tmp_path)
    assert StructuralSVM.load(tmp_path).class_weight == (0.5, 1.0, 2.0)


def test_signs_by_pair_of_types_are_saved(tmp_path):
    X = [Graph([[1.0], [-1.0]], [[0, 1]], node_types=[0, 1]), Graph([[-1.0], [1.0]], [[0, 1]], node_types=[0, 1])]
    Y, signs = [[1, 0], [0, 1]], {(0, 1): [[0, 1], [1, 0]]}
    svm = FrankWolfeSVM(C=10.0, interaction_sign=signs).fit(X, Y)
    svm.save(tmp_path)
    again = FrankWolfeSVM.load(tmp_path)
    np.testing.assert_array_equal(again.interaction_sign[0, 1], signs[0, 1])
    assert torch.equal(parameters(again), parameters(svm))
    assert torch.equal(parameters(again.fit(X, Y)), parameters(svm))


def test_tied_weights_are_saved(chains, tmp_path):
    def tied():
        layers = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        layers[2].weight = layers[0].weight
        return layers

    svm = make(StructuralSVM, tied(), (), **FAST).fit(*chains)
    svm.save(tmp_path)
    again = StructuralSVM.load(tmp_path, unary=tied()).model_.unary
    assert again[2].weight is again[0].weight
    assert torch.equal(again[2].weight, svm.model_.unary[2].weight)


def test_saved_modules_must_be_given_again(chains, tmp_path):
    svm = make(StructuralSVM, nn.Linear(3, 3), (), **FAST).fit(*chains)
    svm.save(tmp_path)
    with pytest.raises(
        ValueError, match=r"was saved with \['unary'\] given as Python objects: pass them to load again"
    ):
        StructuralSVM.load(tmp_path)
    assert torch.equal(parameters(StructuralSVM.load(tmp_path, unary=nn.Linear(3, 3))), parameters(svm))


def test_parts_are_saved(chains, tmp_path):
    unary, trainer = Network((4,), activation="relu", dropout=0.1), Subgradient(learning_rate=0.02, averaging="linear")
    svm = StructuralSVM(unary, (), trainer=trainer, decoder=Decoder("trws", n_threads=1), max_iter=2).fit(*chains)
    svm.save(tmp_path)
    again = load(tmp_path)
    assert again.plain_params() == svm.plain_params()
    assert (again.trainer.averaging, again.decoder.method, again.unary.dropout) == ("linear", "trws", 0.1)
    assert load(tmp_path, decoder=Decoder("icm")).plain_params()["decoder__n_threads"] is None


def test_functions_in_a_part_must_be_given_again(chains, tmp_path):
    svm = StructuralSVM(Network((4,), activation=nn.ELU), (), max_iter=2).fit(*chains)
    svm.save(tmp_path)
    with pytest.raises(ValueError, match=r"was saved with \['unary__activation'\] given as Python objects"):
        load(tmp_path)
    for given in ({"unary__activation": nn.ELU}, {"unary": Network((4,), activation=nn.ELU)}):
        again = load(tmp_path, **given)
        assert torch.equal(again.potentials(chains[0])[0].unary, svm.potentials(chains[0])[0].unary)
