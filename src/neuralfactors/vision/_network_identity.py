"""How a custom network is recognised: by caches, and by models trained with it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from neuralfactors.vision._backbones import PROBE, evaluating

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in a print-out: another one in every process
TINY = 1e-30
NEAR = 0.02  # between responses of one network by hardware of less precision; those of two networks differ by about 1

# What a model file holds of a network of one's own; "weights" is a digest, "response" five numbers a feature map.
Portrait = TypedDict("Portrait", {"class": str, "weights": str, "response": list[list[float]]})


def fingerprint(network: nn.Module) -> str:
    """Digest of a network, for caches: two with the same one give the same features.

    Besides class, print-out and weights it covers what the network makes of a fixed picture, since neither source nor
    print-out shows every constant and function that `forward` may use. That is rounded, so that another machine finds
    the same digest but for one in some hundred networks, whose features are then merely computed again.
    """
    printed = ADDRESS.sub("", repr(network))
    answer = [[round(value, ndigits=2) + 0.0 for value in values] for values in response(network)]  # + 0.0: no −0.0
    parts = (type(network).__qualname__, printed, weights_digest(network), json.dumps(answer))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def portrait(network: nn.Module) -> Portrait:
    """What JSON can hold of a network to know it again by, in years and on other machines; see `is_portrayed`."""
    return {"class": type(network).__qualname__, "weights": weights_digest(network), "response": response(network)}


def is_portrayed(network: nn.Module, kept: Portrait) -> bool:
    """Whether `network` has the weights and, but for rounding, the response of the portrait `kept`.

    A fingerprint would not do here: a model that can no longer be loaded is worse than a cache that is filled anew.
    """
    if weights_digest(network) != kept["weights"]:
        return False
    found = response(network)
    return np.shape(found) == np.shape(kept["response"]) and np.allclose(found, kept["response"], rtol=0, atol=NEAR)


def weights_digest(network: nn.Module) -> str:
    """Digest of a network's parameters and buffers with their names."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in network.state_dict().items():
        if isinstance(value, Tensor):  # a module may keep other things there
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def response(network: nn.Module) -> list[list[float]]:
    """Five numbers a feature map of a fixed picture: how large it is, in powers of two, and four of its directions.

    Directions are the map's products with fixed noise, in lengths of the map: about 1, and steady to some 1e-6 from
    machine to machine. A network that cannot look at this picture has none.
    """
    rng = np.random.default_rng(0)
    picture = torch.from_numpy(rng.random((1, 3, *PROBE), dtype=np.float32))
    device = next((parameter.device for parameter in network.parameters()), picture.device)
    try:
        with torch.inference_mode(), evaluating(network):
            maps = [m.double().cpu().numpy().ravel() for m in network(picture.to(device))]
    except (AssertionError, AttributeError, IndexError, RuntimeError, TypeError, ValueError):
        return []  # it may want larger ones: the other parts of a fingerprint must do
    if not all(np.isfinite(m).all() for m in maps):
        return []
    numbers = []
    for m in maps:
        length = max(float(np.linalg.norm(m)), TINY)
        directions = rng.standard_normal((4, m.size)) @ m / length
        numbers.append([float(np.log2(length)), *directions.tolist()])
    return numbers
