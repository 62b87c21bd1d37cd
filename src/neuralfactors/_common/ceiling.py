"""The ceiling of regions: what a model that labels whole regions could reach at most, and what to do if that is low."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

LOW_PIXEL, LOW_CLASS = 0.95, 0.80  # below these shares, of all pixels or of a class, the regions are too coarse
NAMED = 3  # so many classes are named at most


# Why regions that were chosen are not finer: their ceiling is high enough, or would hardly rise; regions would have too
# few pixels to be described; there would be too many to learn from; it is low only of classes that few images show; or
# they are users' own.
Stop = Literal["enough", "flat", "pixels", "budget", "rare", "own"]
REMEDIES: dict[Stop | None, str] = {
    None: "take more regions, such as {finer}, or larger pictures",
    "flat": "finer regions would hardly raise that, but larger pictures may",
    "pixels": "finer regions would have too few pixels to be described: take larger pictures",
    "rare": "few training images show what is lost: if it matters, ask for more regions, such as {finer}",
    "own": "split your regions there, or leave them out and others are found",
    "budget": "the choice stopped here for time and memory: if there are more, ask for regions, such as {finer}",
}


@dataclass(frozen=True)
class Ceiling:
    """Accuracy of giving every region the label that most of its labelled pixels have.

    Parameters
    ----------
    pixel : float or None
        Share of the labelled pixels that are right; None where nothing is labelled.
    class_mean : float or None
        Mean of `per_class` over the classes that occur.
    per_class : tuple of float or None, default=()
        Share of each class's pixels; None for a class that does not occur.
    """

    pixel: float | None
    class_mean: float | None
    per_class: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        for share in (self.pixel, self.class_mean, *self.per_class):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"a ceiling must be a share from 0 to 1, got {share}")

    @property
    def low_classes(self) -> list[int]:
        """Labels of the classes below 80 %, the lowest first."""
        known = [(share, label) for label, share in enumerate(self.per_class) if share is not None]
        return [label for share, label in sorted(known) if share < LOW_CLASS]

    @property
    def is_low(self) -> bool:
        """Whether it is below 95 % of the pixels, or below 80 % of those of a class."""
        return (self.pixel is not None and self.pixel < LOW_PIXEL) or bool(self.low_classes)

    @property
    def told(self) -> str:
        """Both figures, in percent."""
        shares = [(self.pixel, "of the pixels"), (self.class_mean, "on average over classes")]
        return ", ".join(f"{100 * share:.1f} % {of}" for share, of in shares if share is not None)

    def of_classes(self, labels: Collection[int]) -> Ceiling:
        """The same regions' ceiling, with a mean over the classes of `labels` alone.

        Parameters
        ----------
        labels : collection of int
            Which of them to keep.

        Returns
        -------
        Ceiling
            Of all pixels; no other class is low.
        """
        per_class = tuple(share if label in labels else None for label, share in enumerate(self.per_class))
        known = [share for share in per_class if share is not None]
        return Ceiling(self.pixel, sum(known) / len(known) if known else None, per_class)

    def advice(self, names: Sequence[str], n_regions: int, stop: Stop | None = None) -> str:
        """What to do about a low ceiling, in one sentence; empty where it is high enough.

        Where regions were chosen by `is_low`, there is none about what was enough for that.

        Parameters
        ----------
        names : sequence of str
            Those of the classes.
        n_regions : int
            How many regions an image has.
        stop : Stop, default=None
            Why they are not finer, where they were chosen; None: they are as users wanted them.

        Returns
        -------
        str
            Without a full stop at its end.
        """
        if not self.is_low or stop == "enough":
            return ""
        low = self.low_classes
        worst = ", ".join(f"{100 * (self.per_class[label] or 0.0):.0f} % of {names[label]}" for label in low[:NAMED])
        n_more = len(low) - NAMED
        more = f" and {n_more} more {'class' if n_more == 1 else 'classes'}" if n_more > 0 else ""
        lost = f" ({worst}{more})" if low else ""
        remedy = REMEDIES[stop].format(finer=_rounded(3 * n_regions))
        return (
            f"The regions, about {n_regions} an image, are too coarse: giving each the label that most of its pixels "
            f"have would be right on {self.told}{lost}; {remedy}"
        )


def _rounded(number: int) -> int:
    """The number to one digit, as people would say it."""
    return round(number, 1 - len(str(number)))
