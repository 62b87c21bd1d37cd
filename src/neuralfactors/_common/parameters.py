"""What settings say of models and features, by name, as it goes from room to room and as files hold it."""

from collections.abc import Sequence
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str | None
Parameter: TypeAlias = Scalar | Sequence[Scalar]  # several numbers of hidden units, for instance
