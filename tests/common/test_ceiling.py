import re

import pytest

from neuralfactors._common.ceiling import Ceiling

NAMES = ["cell", "membrane", "void-like", "rare", "rarer"]


def test_a_high_ceiling_needs_no_advice():
    ceiling = Ceiling(0.95, 0.9, (0.99, 0.8, None))
    assert not ceiling.is_low
    assert ceiling.advice(NAMES, 300) == ""
    assert ceiling.told == "95.0 % of the pixels, 90.0 % on average over classes"


@pytest.mark.parametrize(
    ("ceiling", "told"),
    [
        (Ceiling(0.949, 0.9, (0.95, 0.85)), "right on 94.9 % of the pixels, 90.0 % on average over classes; take more"),
        (Ceiling(0.96, 0.8, (0.99, 0.614)), r"over classes \(61 % of membrane\); take more regions, such as 900"),
        (
            Ceiling(0.96, 0.8, (0.99, 0.7, 0.6, 0.5, 0.4)),
            r"\(40 % of rarer, 50 % of rare, 60 % of void-like and 1 more class\)",
        ),
    ],
)
def test_a_low_one_says_what_to_do(ceiling, told):
    assert ceiling.is_low
    assert re.search(told, ceiling.advice(NAMES, 300))


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("enough", "^$"),
        ("flat", "; finer regions would hardly raise that"),
        ("pixels", "; finer regions would have too few pixels"),
        ("own", "; split your regions there"),
        ("rare", "; few training images show what is lost.* such as 900$"),
        ("budget", "; the choice stopped here for time and memory.* such as 900$"),
        (None, "; take more regions, such as 900"),
    ],
)
def test_regions_that_were_chosen_say_why_they_are_not_finer(stop, told):
    assert re.search(told, Ceiling(0.9, 0.8, (0.9, 0.7)).advice(NAMES, 300, stop))


def test_shares_only():
    with pytest.raises(ValueError, match="a ceiling must be a share from 0 to 1, got 95"):
        Ceiling(95.0, None)
    assert Ceiling(None, None).told == ""


def test_of_some_classes_the_mean_is_theirs():
    ceiling = Ceiling(0.97, 0.7, (0.9, 0.4, None, 0.8))
    some = ceiling.of_classes([0, 2, 3])
    assert (some.pixel, some.per_class) == (0.97, (0.9, None, None, 0.8))
    assert some.class_mean == pytest.approx(0.85)
    assert ceiling.is_low
    assert not some.is_low
    assert ceiling.of_classes([2]) == Ceiling(0.97, None, (None, None, None, None))
