"""What compare and tune share: presets, files and options, the later ones first, and limits by variant."""

import json
from pathlib import Path

import pytest

from neuralfactors._cli.choices import Choices
from neuralfactors._runs import RunConfig, Splits
from neuralfactors._runs.documents import FORMAT

NOTHING = dict.fromkeys(
    ("preset", "settings", "regions", "epochs", "limit", "mirror", "varied", "split", "validate", "void", "drop")
)


def config_of(variants=("SGD", "unary"), more=None, **chosen):
    choices = Choices(**{"data": Path("photos"), "features": "bow", **NOTHING, **chosen})
    return choices.config(list(variants), **(more or {}))


def test_nothing_chosen_is_the_default():
    splits = Splits(test="test")
    expected = RunConfig("photos", ("SGD", "unary"), "compare", {"features": "bow"}, balance=None, splits=splits)
    assert config_of() == expected


def test_everything_chosen():
    config = config_of(
        features="bow+cnn", regions="50", epochs=3, limit=["9", "SGD=4"], mirror=True, varied=2, split="train+val",
        validate="dev", void=["sky"], drop=["cow", "sheep"], more={"seed": 7, "holdout": None},
    )  # fmt: skip
    assert config.features == {"features": "bow+cnn", "n_regions": 50}
    assert config.parameters == {"SGD": {"max_iter": 3}, "unary": {"max_iter": 3}}
    assert config.limits == {"*": 9, "SGD": 4}
    assert (config.splits.train, config.splits.val, config.splits.test) == ("train+val", "dev", "test")
    assert config.varied == 2
    assert (config.mirror, config.images.void, config.images.drop) == (True, ("sky",), ("cow", "sheep"))
    assert (config.seed, config.splits.holdout) == (7, 0)
    assert config.balance is None  # the default


def test_options_replace_files_and_later_files_replace_earlier_ones(tmp_path):
    files = []
    for n, rows in enumerate([{"*": {"C": 1.0, "max_iter": 9}, "SGD": {"C": 2.0}}, {"SGD": {"C": 3.0}}]):
        files.append(tmp_path / f"{n}.json")
        files[-1].write_text(json.dumps({"format": FORMAT, "variants": rows}))
    config = config_of(settings=files, epochs=4)
    assert config.parameters_of("SGD") == {"C": 3.0, "max_iter": 4}
    assert config.parameters_of("unary") == {"C": 1.0, "max_iter": 4}


@pytest.mark.parametrize("mirror", [True, False, None])
def test_mirror_images_may_be_refused(mirror):
    assert config_of(mirror=mirror).mirror is bool(mirror)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("many", "'many'"),
        ("", "''"),
        ("-3", "'-3'"),
        ("2.5", "'2.5'"),
        ("SGD=", "'SGD='"),
        ("SGD=few", "'SGD=few'"),
        ("magic=3", "'magic'"),
        ("CP=3", "not in this run"),
    ],
)
def test_limits_that_cannot_be(limit, words):
    with pytest.raises(ValueError, match=rf"\A[^\n]*{words}[^\n]*\Z"):
        config_of(limit=[limit])


def test_limits_by_the_printed_name():
    assert config_of(["int+lin-dagger"], limit=["int†+lin=5"]).limits == {"int+lin-dagger": 5}
