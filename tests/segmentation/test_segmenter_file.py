"""Segmenters on disk: features with the model or elsewhere, options that files lack, and files of strangers."""

import copy

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline

from neuralfactors import Graph, StructuralSVM, UnaryClassifier
from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import load_model, save_model
from neuralfactors.datasets import make_scenes
from neuralfactors.segmentation import Segmenter


@pytest.fixture(scope="module")
def saved(small_model, tmp_path_factory):
    """The folder of a model, and what its file holds but for format and digests."""
    folder = tmp_path_factory.mktemp("model")
    small_model.save(folder)
    document, tensors = load_model(folder)
    return folder, {key: document[key] for key in ("class", "features_sha256", "parts")}, tensors


def without(tensors, part):
    return {name: value for name, value in tensors.items() if not name.startswith(f"{part}.")}


def test_one_file_holds_features_and_model(saved, small_model):
    folder, document, tensors = saved
    assert len(list(folder.iterdir())) == 2  # the document and its tensors
    assert list(document["parts"]) == ["features", "model"]
    assert {name.partition(".")[0] for name in tensors} == {"features", "model"}
    image = make_scenes(1, shape=(48, 64), random_state=3)[0][0]
    np.testing.assert_array_equal(Segmenter.load(folder).predict_proba([image]), small_model.predict_proba([image]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("class_weight", [None, [1.0, 2.0, 1.0, 1.0, 1.0]])
def test_a_loaded_segmenter_would_learn_as_it_has(small_model, tmp_path, class_weight):
    model = StructuralSVM((4,), (), max_iter=1, class_weight=class_weight)
    first = UnaryClassifier(max_iter=1)
    options = {"balance": 0.0, "cost": "region", "mirror": True, "random_state": 5}
    fitted = copy.copy(small_model).set_params(estimator=make_pipeline(first, model), **options)
    fitted.stages_ = [copy.copy(first), copy.copy(model)]
    given = [("n_labels", 5), ("class_weight", [3.0] * 5)]  # as `fit` gives them to stages
    for stage in fitted.stages_:
        stage.set_params(**dict(given if stage.class_weight is None else given[:1]))
        stage.fit([Graph(np.eye(5))], [np.arange(5)])
    fitted.save(tmp_path)
    loaded = Segmenter.load(tmp_path, cost="area")
    assert {name: getattr(loaded, name) for name in options} == {**options, "cost": "area"}
    unary, joint = (step for _, step in loaded.estimator.steps)
    assert (unary.max_iter, tuple(joint.unary.hidden), joint.max_iter) == (1, (4,), 1)
    assert unary.class_weight is None
    assert joint.class_weight == (None if class_weight is None else tuple(class_weight))
    assert not hasattr(joint, "model_")
    assert Segmenter.load(tmp_path, estimator=model).estimator is model


def test_the_default_estimator_stays_the_default(small_model, tmp_path):
    default = copy.copy(small_model).set_params(estimator=None)
    default.save(tmp_path)
    assert Segmenter.load(tmp_path).estimator is None


def test_features_may_be_elsewhere(saved, small_model, tmp_path):
    small_model.describer_.save(tmp_path / "features")
    small_model.save_model(tmp_path / "model")
    assert list(load_model(tmp_path / "model")[0]["parts"]) == ["model"]
    image = make_scenes(1, shape=(48, 64), random_state=3)[0][0]
    for folder in (tmp_path / "model", saved[0]):  # a folder that is named comes before the file's own features
        loaded = Segmenter.load(folder, features=tmp_path / "features")
        np.testing.assert_array_equal(loaded.predict_one(image), small_model.predict_one(image))


def remove(*keys):
    def change(document, tensors):
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


def put(*keys, value):
    def change(document, tensors):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def add_tensor(name):
    return lambda _, tensors: tensors.update({name: torch.zeros(1)})


def remove_tensor(_, tensors):
    del tensors[min(name for name in tensors if name.startswith("model."))]


def reshape_tensors(_, tensors):
    tensors.update({name: torch.zeros(1) for name in tensors if name.startswith("model.")})


DAMAGES = {
    "no parts": remove("parts"),
    "parts of another kind": put("parts", value=[1]),
    "no model": remove("parts", "model"),
    "a model of another kind": put("parts", "model", value=3),
    "no digest of features": remove("features_sha256"),
    "another digest": put("features_sha256", value="0"),
    "no parameters": remove("parts", "model", "parameters"),
    "no names of what was omitted": remove("parts", "model", "omitted"),
    "nothing fitted": remove("parts", "model", "fitted"),
    "no history": remove("parts", "model", "history"),
    "no settings of features": remove("parts", "features", "settings"),
    "an unknown setting of features": put("parts", "features", "settings", "magic", value=1),
    "no classes": remove("parts", "features", "classes"),
    "a number of labels that is none": put("parts", "model", "fitted", "n_labels_", value="seven"),
    "a parameter that nobody knows": put("parts", "model", "parameters", "tensorboard", value="x"),
    "a model of another class": put("parts", "model", "class", value="Popen"),
    "the class of a model": put("class", value="StructuralSVM"),
    "a tensor of no part": add_tensor("magic.x"),
    "a tensor without a part": add_tensor("x"),
    "a tensor too few": remove_tensor,
    "tensors of another shape": reshape_tensors,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_strangers_file_is_refused_in_one_sentence(saved, tmp_path, damage):
    """Whole and with digests that are right: whoever wrote it could compute them too."""
    _, document, tensors = saved
    document, tensors = copy.deepcopy(document), dict(tensors)
    DAMAGES[damage](document, tensors)
    save_model(tmp_path, document, tensors)
    with pytest.raises(FileFormatError, match=rf"\A{tmp_path} [^\n]*\Z"):
        Segmenter.load(tmp_path)


def test_a_model_without_features_says_what_is_missing(saved, tmp_path):
    _, document, tensors = saved
    parts = {"model": document["parts"]["model"]}
    save_model(tmp_path, {**document, "parts": parts}, without(tensors, "features"))
    with pytest.raises(ValueError, match="contains no features: pass the folder"):
        Segmenter.load(tmp_path)
