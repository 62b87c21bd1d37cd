"""What commands share that also run without extras."""

from pathlib import Path

from neuralfactors._cli.parameters import cache_folder


def test_where_features_are_kept(monkeypatch, tmp_path):
    assert cache_folder(tmp_path) == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder(None) == tmp_path / "xdg/neuralfactors"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder(None) == Path.home() / ".cache/neuralfactors"
