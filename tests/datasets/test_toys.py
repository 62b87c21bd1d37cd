"""Toy pictures: seeded, of the stated shape, with patterns where they are said to be."""

import numpy as np
import pytest

from neuralfactors.datasets import _toys as toys

MAKERS = [
    toys.make_blocks, toys.make_checkerboard, toys.make_striped_checkerboard, toys.make_crosses, toys.make_bars,
    toys.make_squares, toys.make_boxes,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS)
def test_seeded_and_shaped(make):
    (X, Y), (X_again, Y_again), (X_other, _) = make(4), make(4), make(4, random_state=1)
    assert X.shape[:3] == Y.shape
    assert len(Y) == 4
    assert X.dtype == np.float32
    assert (X_again == X).all()
    assert (Y_again == Y).all()
    assert not (X_other == X).all()


@pytest.mark.parametrize(
    "make", [toys.make_blocks, toys.make_checkerboard, toys.make_striped_checkerboard], ids=lambda make: make.__name__
)
def test_without_noise_the_features_are_the_labels(make):
    X, Y = make(2, noise=0)
    assert (X.argmax(axis=-1) == Y).all()


@pytest.mark.parametrize(
    ("make", "options"), [(toys.make_crosses, {"centre": True}), (toys.make_bars, {}), (toys.make_squares, {})]
)
def test_the_stated_number_of_pixels_is_flipped_and_labels_beyond_1_are_hidden(make, options):
    X, Y = make(6, noise=7, **options)
    assert ((X.argmax(axis=-1) != (Y > 0)).sum(axis=(1, 2)) == 7).all()


def test_crosses_have_their_five_pixels_around_a_centre():
    _, Y = toys.make_crosses(10, centre=True)
    assert ((Y == 2).sum(axis=(1, 2)) == 4).all()
    assert ((Y == 1).sum(axis=(1, 2)) == 16).all()
    for n, a, b in np.argwhere(Y == 2):
        assert [Y[n, a - 1, b], Y[n, a + 1, b], Y[n, a, b - 1], Y[n, a, b + 1]] == [1, 1, 1, 1]


def test_too_many_patterns_are_refused():
    with pytest.raises(ValueError, match="no room for 9 patterns"):
        toys.make_crosses(1, size=4, n_crosses=9)


def test_blocks_are_stripes_of_equal_width():
    _, Y = toys.make_blocks(2, n_labels=4)
    assert (np.arange(12) // 3 == Y).all()


@pytest.mark.parametrize("field", [1, 2, 3, 4])
def test_neighbouring_fields_of_a_checkerboard_differ(field):
    _, Y = toys.make_checkerboard(1, field=field)
    fields = Y[0, ::field, ::field]
    assert (fields[1:] != fields[:-1]).all()
    assert (fields[:, 1:] != fields[:, :-1]).all()
    np.testing.assert_array_equal(fields.repeat(field, 0).repeat(field, 1), Y[0])


def test_rows_of_stripes_lie_between_rows_that_alternate():
    _, Y = toys.make_striped_checkerboard(1)
    striped = (Y[0] == 2).all(axis=1)
    assert (striped[1:] != striped[:-1]).all()
    rest = Y[0][~striped]
    assert (rest[:, 1:] == 1 - rest[:, :-1]).all()


def test_a_box_is_a_quarter_of_its_picture():
    X, Y = toys.make_boxes(40, noise=3)
    quarters = Y.reshape(-1, 2, 2, 2, 2).sum(axis=(2, 4))
    assert (np.sort(quarters.reshape(-1, 4), axis=1) == [0, 0, 0, 4]).all()
    assert len(np.unique(quarters.reshape(-1, 4).argmax(axis=1))) == 4  # each of them occurs
    assert ((X.argmax(axis=-1) != Y).sum(axis=(1, 2)) == 3).all()


@pytest.mark.parametrize("make", [toys.make_crosses, toys.make_bars, toys.make_squares])
def test_patterns_do_not_touch_what_they_cover(make):
    _, Y = make(8)
    assert ((Y > 0).sum(axis=(1, 2)) == (Y[:1] > 0).sum()).all() or make is toys.make_bars
    assert (Y >= 0).all()
    assert Y.max() <= 2


@pytest.mark.parametrize("make", MAKERS)
def test_a_generator_moves_on(make):
    generator = np.random.default_rng(5)
    first, second = make(3, random_state=generator)[0], make(3, random_state=generator)[0]
    assert not np.array_equal(first, second)
