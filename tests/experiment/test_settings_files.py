"""Settings in files: what people and searches write, merged layer by layer, refused by name."""

import json

import pytest

from neuralfactors._common.files import FileFormatError
from neuralfactors._experiment.settings_files import changes_for, parameters_of, read_settings, read_settings_of
from neuralfactors._runs import RunFolder, Settings


def write(path, variants, **more):
    path.write_text(json.dumps({"format": 4, "variants": variants, **more}))
    return path


def test_what_a_search_wrote_is_read(tmp_path):
    RunFolder(tmp_path).settings.write(Settings({"SGD": {"C": 5.0}}, trial=3, score=0.5))
    assert read_settings(RunFolder(tmp_path).settings.path) == {"SGD": {"C": 5.0}}


def test_what_people_write_needs_no_digest(tmp_path):
    path = write(tmp_path / "s.json", {"int†+lin": {"C": 1.0, "balance": 0.5}, "*": {"max_iter": 3}})
    assert read_settings(path) == {"int+lin-dagger": {"C": 1.0, "balance": 0.5}, "*": {"max_iter": 3}}


@pytest.mark.parametrize(
    ("variants", "words"),
    [
        ({"magic": {}}, "magic"),
        ({"SGD": {"speed": 1}}, "'speed'"),
        ({"SGD": {"C": "much"}}, "C of 'SGD' must be a number"),
        ({"SGD": {"C": True}}, "C of 'SGD' must be a number"),
        ({"SGD": {"C": [1]}}, "C of 'SGD' must be a number"),
        ({"SGD": {"balance": -0.5}}, "balance"),
        ({"SGD": {"balance": float("nan")}}, "balance"),
        ({"int+nrl": {"unary__hidden": [0]}}, "unary__hidden"),
        ({"int+nrl": {"unary__hidden": [True]}}, "unary__hidden"),
        ({"int+nrl": {"unary__hidden": "many"}}, "unary__hidden"),
        ({"SGD": {"callbacks": "x"}}, "callbacks"),
    ],
)
def test_what_nothing_knows_is_refused_with_the_file(tmp_path, variants, words):
    path = write(tmp_path / "s.json", variants)
    with pytest.raises(ValueError, match=rf"\A[^\n]*s\.json[^\n]*{words}[^\n]*\Z"):
        read_settings(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"variants": {}}', '{"format": 4}', '{"format": "x", "variants": {}}']
)
def test_files_of_another_shape(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"s\.json"):
        read_settings(tmp_path / "s.json")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="gone"):
        read_settings(tmp_path / "gone.json")


def test_a_file_must_be_of_use(tmp_path):
    one, both = write(tmp_path / "1.json", {"SGD": {"C": 1.0}}), write(tmp_path / "2.json", {"*": {"C": 2.0}})
    assert read_settings_of([one, both], ["SGD", "CP"]) == [{"SGD": {"C": 1.0}}, {"*": {"C": 2.0}}]
    with pytest.raises(ValueError, match=r"1\.json has no settings for CP.*SGD"):
        read_settings_of([both, one], ["CP"])
    assert read_settings_of([], ["CP"]) == []


def test_later_layers_replace_single_parameters():
    layers = {"SGD": {"C": 1.0, "tol": 1}, "CP": {"C": 9.0}}, {"SGD": {"C": 2.0}, "*": {"max_iter": 3}}, {}
    layers = tuple(
        {name: {k: v for k, v in row.items() if k != "tol"} for name, row in layer.items()} for layer in layers
    )
    assert parameters_of(["SGD"], *layers) == {"SGD": {"C": 2.0}, "*": {"max_iter": 3}}
    assert layers[0]["SGD"] == {"C": 1.0}  # as it was
    assert parameters_of(["SGD"]) == parameters_of(["SGD"], {"SGD": {}}) == {}


def test_changes_go_to_the_variants_that_have_them():
    found = changes_for(["unary", "SGD"], {"C": 3.0, "decoder__method": "trws"})
    assert found == {"unary": {"C": 3.0}, "SGD": {"C": 3.0, "decoder__method": "trws"}}
    assert changes_for(["unary"], {}) == {"unary": {}}
    with pytest.raises(ValueError, match="unary has no parameter 'decoder__method'"):
        changes_for(["unary"], {"decoder__method": "trws"})
