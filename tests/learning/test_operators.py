"""Decoding as operators of torch: what they promise, and that they are registered only where torch compiles."""

import subprocess
import sys

import pytest
import torch
from oracles import random_potentials

from neuralfactors import Decoder
from neuralfactors.learning import _loss_augmented, _operators
from neuralfactors.learning._margin import node_costs

IN_A_NEW_PROCESS = """
import sys
import torch
from neuralfactors import Potentials, StructuredHingeLoss, decode
unary, y, loss = torch.arange(12.0).sin().view(1, 4, 3), torch.tensor([[0, 1, 2, 0]]), StructuredHingeLoss()
functions = [lambda u: decode(Potentials.chain(u, torch.eye(3))), lambda u: loss(Potentials.chain(u, torch.eye(3)), y)]
expected = [function(unary) for function in functions]
assert "neuralfactors.learning._operators" not in sys.modules
for function, value in zip(functions, expected):
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(unary), value)
assert "neuralfactors.learning._operators" in sys.modules
"""


@pytest.mark.parametrize("operator", ["decode", "rival"])
def test_operators_keep_their_promises_to_torch(operator):
    potentials, y = random_potentials(1)
    p = potentials
    tensors = p.unary, p.interaction, p.edges, p.node_ptr, p.edge_ptr
    extra = () if operator == "decode" else (y, node_costs(y), True, "complete")
    fine_tol = () if operator == "decode" else (Decoder().tol,)
    arguments = (*tensors, *extra, *Decoder().arguments(), *fine_tol)
    torch.library.opcheck(getattr(_operators, operator), arguments)


def test_a_compiled_completion_is_as_fine_as_any(monkeypatch):
    seen, search = [], _loss_augmented.search_rival
    monkeypatch.setattr(_operators, "search_rival", lambda *args: seen.append(args[3]) or search(*args))
    potentials, y = random_potentials(1)
    p, rough = potentials, Decoder(tol=1e-6).for_training()
    tensors = p.unary, p.interaction, p.edges, p.node_ptr, p.edge_ptr
    _operators.rival(*tensors, y, node_costs(y), True, "complete", *rough.arguments(), rough.fine().tol)
    assert (seen[0].tol, seen[0].fine().tol) == (rough.tol, 1e-6)


def test_operators_are_registered_while_torch_compiles():
    command = [sys.executable, "-c", IN_A_NEW_PROCESS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
