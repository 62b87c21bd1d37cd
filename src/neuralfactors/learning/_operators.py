"""Decoding as operators of torch, for what it compiles or transforms (`torch.compile`, `torch.func`).

Only such code imports this module, in the midst of being compiled: to register an operator, torch looks through the
files of all modules that are loaded, which programs that only predict need not wait for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuralfactors._core.potentials import Potentials
from neuralfactors.learning._decode import Decoder
from neuralfactors.learning._loss_augmented import check_range, search_rival


@torch.library.custom_op("neuralfactors::decode", mutates_args=())
def decode(
    unary: Tensor,
    interaction: Tensor,
    edges: Tensor,
    node_ptr: Tensor,
    edge_ptr: Tensor,
    method: str,
    tol: float,
    max_iter: int | None,
    n_threads: int | None,
    random_state: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What `Decoded.from_tensors` takes, from the tensors of potentials and the arguments of a decoder."""
    decoder = Decoder(method, tol, max_iter, n_threads, random_state)
    return decoder(Potentials(unary, interaction, edges, node_ptr, edge_ptr)).to_tensors()


@decode.register_fake
def _fake_decoded(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tensors of the shapes and types that decoding returns; the arguments begin with those of `Potentials`."""
    unary, _, _, node_ptr, *_ = arguments
    n_graphs = node_ptr.shape[0] - 1  # a symbol, perhaps, which `len` would not be
    labels = unary.new_empty(unary.shape[0], dtype=torch.int64)
    score = torch.empty(n_graphs, dtype=torch.float64)
    return labels, score, torch.empty_like(score), torch.empty(2, n_graphs, dtype=torch.bool)


@torch.library.custom_op("neuralfactors::rival", mutates_args=())
def rival(
    unary: Tensor,
    interaction: Tensor,
    edges: Tensor,
    node_ptr: Tensor,
    edge_ptr: Tensor,
    y: Tensor,
    costs: Tensor,
    augment: bool,
    void: str,
    method: str,
    tol: float,
    max_iter: int | None,
    n_threads: int | None,
    random_state: int,
    fine_tol: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Labels y and z of `find_rival`, and what `Decoded.from_tensors` takes; `fine_tol` is that of `Decoder.fine`."""
    potentials = Potentials(unary, interaction, edges, node_ptr, edge_ptr)
    check_range(y, potentials.n_labels)
    decoder = Decoder(method, fine_tol, max_iter, n_threads, random_state)
    decoder = decoder if tol == fine_tol else decoder.for_training()
    found = search_rival(potentials, y, costs, decoder, augment, void)
    # Copies, for what an operator returns must be neither its arguments nor one another.
    return found.y.clone(), found.z.clone(), *found.decoded.to_tensors()


@rival.register_fake
def _(*arguments: Tensor) -> tuple[Tensor, ...]:
    decoded = _fake_decoded(*arguments)
    return torch.empty_like(decoded[0]), torch.empty_like(decoded[0]), *decoded
