"""A network in an ONNX file as a backbone. Needs the package onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from neuralfactors._common.files import check_regular, file_digest

ONNX = ".onnx"
RANK = 4  # of a feature map: (N, C, H, W)


class OnnxBackbone(nn.Module):
    """The network in an ONNX file: it takes the place of a torch module wherever a backbone is asked for.

    Parameters
    ----------
    path : path
        The file. Its only input is float32 (1, 3, H, W), RGB from 0 to 1: a normalisation is part of the network. H and
        W may be fixed: pictures are then resized. Outputs of shape (1, C, h, w) are its feature maps.

    Raises
    ------
    ImportError
        If the package onnxruntime is missing.
    ValueError
        If there is no such file, or it is no such network.
    """

    digest: Tensor

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)
        self._session = _open(self.path)
        (given,) = self._session.get_inputs()
        self._input = given.name
        fixed = given.shape[2:] if len(given.shape) == RANK else []
        self._size = [int(n) for n in fixed] if all(isinstance(n, int) for n in fixed) else None
        self._outputs = [output.name for output in self._session.get_outputs() if len(output.shape) == RANK]
        if len(given.shape) != RANK or not self._outputs:
            raise ValueError(f"{self.path} must be a network from (1, 3, H, W) to feature maps (1, C, h, w)")
        # In the state of the module, so that caches and models know the network by its file.
        digest = np.frombuffer(bytes.fromhex(file_digest(self.path)), dtype=np.uint8)
        self.register_buffer("digest", torch.from_numpy(digest.copy()))

    def forward(self, images: Tensor) -> list[Tensor]:
        """Maps of `images` (1, 3, H, W), whose values are 0 to 1, finest first.

        Parameters
        ----------
        images : Tensor of shape (1, 3, H, W)
            RGB.

        Returns
        -------
        list of Tensor of shape (1, C, h, w)
            Its outputs, the largest first.
        """
        if self._size and list(images.shape[2:]) != self._size:
            images = interpolate(images, size=self._size, mode="bilinear", align_corners=False, antialias=True)
        maps = self._session.run(self._outputs, {self._input: np.ascontiguousarray(images.cpu().numpy())})
        return [torch.from_numpy(m) for m in sorted(maps, key=lambda m: -m.shape[2] * m.shape[3])]

    def __reduce__(self) -> tuple[type[OnnxBackbone], tuple[Path]]:
        return OnnxBackbone, (self.path,)


def _open(path: Path) -> Any:
    """A session of onnxruntime for a network of one input."""
    try:
        import onnxruntime
    except ImportError as error:
        needed = "needs the package onnxruntime: pip install 'neuralfactors[onnx]'"
        raise ImportError(f"the backbone {path} {needed}") from error
    if not check_regular(path).exists():
        raise ValueError(f"the backbone {path} does not exist")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 4  # what is wrong is said by the error
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of a damaged file, anything may come
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"the backbone {path} could not be read: {told}") from error
    if len(session.get_inputs()) != 1:
        raise ValueError(f"the backbone {path} must have one input, got {len(session.get_inputs())}")
    return session
