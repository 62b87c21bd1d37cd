"""Claims: their sides differ in one thing only."""

from dataclasses import fields

import pytest

from neuralfactors._experiment.claims.recipes import CLAIMS, RECIPES, check_claims, check_regressions, needed


@pytest.mark.parametrize("key", CLAIMS)
def test_sides_differ_in_what_the_claim_is_about(key):
    claim = CLAIMS[key]
    better, worse = RECIPES[claim.better], RECIPES[claim.worse]
    differing = {f.name for f in fields(better) if getattr(better, f.name) != getattr(worse, f.name)} - {"name"}
    about = {"depth": {"unary", "interaction"}, "dagger": {"unary", "frozen"}}
    assert differing == about.get(key, {"frozen"} if key.startswith("integrated") else {"interaction"})


def test_recipes_come_after_what_they_start_from():
    assert needed(["integrated-neural"], "full") == ["bif-nrl", "bif-nrl-on", "int-nrl-on"]
    assert sorted(needed(list(CLAIMS), "full")) == sorted(RECIPES)


def test_a_weak_regression_is_tried_only_where_there_is_one():
    for claim in CLAIMS.values():
        has_regression = any(RECIPES[recipe].unary is None for recipe in (claim.better, claim.worse))
        assert ("weak" in claim.regressions) == has_regression
    assert not {"int-nrl", "int-lin", "3-layer"} & {*needed(list(CLAIMS), "weak")}
    check_regressions(["depth", "dagger"], ["full", "weak"])
    with pytest.raises(ValueError, match=r"no side of depth has a regression that could be weak"):
        check_regressions(["dagger", "depth"], ["weak"])


def test_unknown_claims_are_refused():
    with pytest.raises(ValueError, match=r"claims must be some of integrated-neural, .*, got 'speed'"):
        check_claims(["depth", "speed"])
