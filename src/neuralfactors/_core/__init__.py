"""What every room speaks of: graphs and their batches, factors, potentials and the distribution that they define."""

from neuralfactors._common.extras import needs

with needs("learning", "learn"):
    import torch  # noqa: F401
