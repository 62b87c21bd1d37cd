"""What tells one network from another."""

import pytest
import torch
from pictures import Pyramid

from neuralfactors.vision._network_identity import fingerprint, is_portrayed, portrait, response


def test_fingerprint_tells_weights_apart():
    one, two = Pyramid(), Pyramid()
    assert fingerprint(one) == fingerprint(two)
    with torch.no_grad():
        two.second.bias[0] += 1
    assert fingerprint(one) != fingerprint(two)


class Activated(Pyramid):
    """A `Pyramid` whose maps go through a function, and a scale that is no weight."""

    def __init__(self, function=torch.relu, scale=1.0, *, kept=0.0):
        super().__init__()
        self.function, self.scale = function, scale
        self.register_buffer("kept", torch.tensor(kept))

    def forward(self, images):
        return [self.scale * self.function(m) for m in super().forward(images)]


@pytest.mark.parametrize("other", [Activated(torch.tanh), Activated(scale=1.1), Activated(kept=1.0)])
def test_fingerprint_tells_apart_what_networks_do(other):
    assert fingerprint(Activated()) == fingerprint(Activated()) != fingerprint(other)
    assert is_portrayed(Activated(), portrait(Activated()))
    assert not is_portrayed(Activated(), portrait(other))


def test_rounding_does_not_change_the_response():
    class Rounded(Pyramid):
        def forward(self, images):
            return [m * (1 + 1e-6 * torch.rand(m.shape)) for m in super().forward(images)]

    network = Rounded()
    assert response(network) != response(network)
    assert fingerprint(network) == fingerprint(network)
    assert is_portrayed(network, portrait(network))


def test_a_print_out_may_hold_addresses():
    class Printed(Pyramid):
        def extra_repr(self):
            return repr(object())

    kept = [Printed(), Printed(), Printed()]
    assert len({fingerprint(network) for network in kept}) == 1


def test_a_network_that_refuses_the_probe_has_a_fingerprint():
    class Large(Pyramid):
        def forward(self, images):
            return super().forward(images[..., 100:, 100:].unfold(2, 50, 50).mean(-1))

    assert response(Large()) == []
    assert fingerprint(Large()) == fingerprint(Large()) != fingerprint(Pyramid())
    assert is_portrayed(Large(), portrait(Large()))
