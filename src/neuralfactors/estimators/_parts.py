"""Estimators made of parts: what `get_params` and `set_params` make of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

Parts = Mapping[str, Callable[[Any], Any]]  # by the name of a parameter: from what is given to the part


class Composed(BaseEstimator):
    """Base of estimators some of whose parameters are parts, which have parameters of their own.

    A part may be left out or given in short: `trainer=None` stands for a fresh `Subgradient()`, `unary=(256,)` for a
    `Network((256,))`. Its parameters can be read and set all the same; setting one puts the part itself there.
    """

    _parts: ClassVar[Parts] = {}

    def part(self, name: str) -> Any:
        """The part that a parameter stands for, made afresh where it is left out or given in short.

        Parameters
        ----------
        name : str
            Such as "trainer".

        Returns
        -------
        object
            For instance a `Subgradient`.
        """
        return self._make_part(name, getattr(self, name))

    def _make_part(self, name: str, given: Any) -> Any:
        return self._parts[name](given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list those of the parts too, such as `trainer__learning_rate`.

        Returns
        -------
        dict
            Values as they were given; parts that were left out are None, but their parameters are listed.
        """
        found: dict[str, Any] = super().get_params(deep=False)
        for name in self._parts if deep else ():
            part = self.part(name)
            if isinstance(part, BaseEstimator):
                found |= {f"{name}__{inner}": value for inner, value in part.get_params().items()}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters, those of parts by names such as `trainer__learning_rate`.

        Parameters
        ----------
        **parameters
            Values by name.

        Returns
        -------
        self
            The same estimator.
        """
        of_parts = {key: value for key, value in parameters.items() if "__" in key}
        super().set_params(**{key: value for key, value in parameters.items() if key not in of_parts})
        for name in {key.partition("__")[0] for key in of_parts} & self._parts.keys():
            part = self.part(name)  # which may depend on the others
            if not isinstance(part, BaseEstimator):
                raise ValueError(f"{name} is a {type(part).__name__}, which has no parameters to set")
            setattr(self, name, part)
        super().set_params(**of_parts)
        return self

    def plain_params(self) -> dict[str, Any]:
        """Parameters by full name, all parts taken apart.

        Returns
        -------
        dict
            What is no part of ours, such as a module, stays whole.
        """
        apart = {name for name in self._parts if isinstance(self.part(name), BaseEstimator)}
        return {name: value for name, value in self.get_params().items() if name not in apart}


def or_default(make: Callable[[], Any]) -> Callable[[Any], Any]:
    """What turns None into a fresh part, and leaves all else as it is."""
    return lambda given: make() if given is None else given
