import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from neuralfactors._runs import RunConfig, Search, Splits
from neuralfactors._runs.config import ImageOptions
from neuralfactors._runs.documents import decode, encode
from neuralfactors.datasets import ImageFolder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": ()}, "at least one variant"),
        ({"variants": ("best",)}, r"variant must be one of unary, CP, .*, got 'best'"),
        ({"kind": "play"}, "kind must be one of train, compare, demo, tune, got 'play'"),
        ({"balance": 2.0}, "balance must be between 0 and 1, got 2.0"),
        ({"limits": {"SGD": -3}}, "the limit of SGD must not be negative, got -3"),
    ],
)
def test_config_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        RunConfig("data", **changes)


def test_config_comes_back_from_json():
    images, parameters = ImageOptions(void=["a"], regions="regions"), {"int†+lin": {"unary_hidden": (3,)}}
    config = RunConfig("x", ("int†+lin",), parameters=parameters, limits={"*": 5}, images=images)
    assert config.variants == ("int+lin-dagger",)
    assert decode(RunConfig, encode(config), "settings") == config
    assert config.resolved() == config.resolved().resolved() != config
    assert Path(config.resolved().images.regions).is_absolute()
    assert config.resolved().images.features is None


def test_image_options_are_those_of_a_folder():
    expected = inspect.signature(ImageFolder).parameters
    assert {field.name for field in fields(ImageOptions)} == set(expected) - {"root", "random_state"}
    with pytest.raises(ValueError, match="pages must be one of channels, pictures, got 'leaves'"):
        ImageOptions(pages="leaves")


def test_what_settings_do_not_mention_has_its_default():
    former = {name: value for name, value in encode(RunConfig("x")).items() if name not in ("limits", "splits")}
    assert decode(RunConfig, former, "settings") == RunConfig("x") != RunConfig("x", limits={"SGD": 3})


def test_what_is_said_of_a_variant():
    config = RunConfig("x", parameters={"*": {"C": 1.0, "tol": 2.0}, "CP": {"C": 3.0}}, limits={"*": 6, "SGD": 3})
    assert config.parameters_of("CP") == {"C": 3.0, "tol": 2.0}
    assert [config.limit_of(variant) for variant in ("CP", "SGD")] == [6, 3]
    assert RunConfig("x").limit_of("CP") == 0


def test_features_and_copies():
    config = RunConfig("/a/b", features={"features": "bow+cnn"})
    assert (config.feature_kind, config.uses_cnn, config.data_name, config.copies) == ("bow+cnn", True, "b", 1)
    assert (RunConfig("x").feature_kind, RunConfig("x").uses_cnn, RunConfig("x", mirror=True).copies) == (
        "bow",
        False,
        2,
    )


def test_images_held_out_take_the_place_of_validation_images():
    assert (Splits().learnt, Splits().followed) == ("train", "val")
    assert (Splits(holdout=3).learnt, Splits(holdout=3).followed) == ("rest", "holdout")
    with pytest.raises(ValueError, match="holdout must not be negative, got -1"):
        Splits(holdout=-1)


def test_search_is_checked():
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        Search(0)
    with pytest.raises(ValueError, match="folds must be at least 2, or 0 for the validation split, got 1"):
        Search(3, folds=1)
