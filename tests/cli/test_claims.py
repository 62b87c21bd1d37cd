"""claims, end to end on scenes."""

import json

from commands import SMALL, refused


def test_a_claim_on_scenes(call, scenes, cache, tmp_path):
    out = tmp_path / "claims"
    options = ("--claims", "dagger", "--regressions", "weak", "--seeds", "2", "--trials", "2", "--cache", cache)
    result = call("claims", scenes, "--out", out, *SMALL, *options)
    assert result.code == 0, result.err
    head, line, told, *_ = result.out.splitlines()
    assert head.split() == ["claim", "regression", "pixel", "class", "mean", "verdict"]
    assert line.split()[:2] == ["dagger", "weak"]
    assert told == "Differences in points on 2 images, 2 seeds."
    again = json.loads(call("claims", scenes, "--out", out, *SMALL, *options, "--json").out)
    assert again["claims"][0]["claim"] == "dagger"
    assert again["shared"]["C"] == 100.0


def test_what_is_unknown_is_refused(call, scenes, tmp_path):
    refused(call("claims", scenes, "--out", tmp_path / "x", "--claims", "speed"), "claims must be some of")
    refused(call("claims", scenes, "--out", tmp_path / "x", "--regressions", "strong"), "full, weak")
