"""demo: from scenes to a report, twice in one folder, and never over another run."""


def test_demo(call, tmp_path):
    options = ("--out", tmp_path / "demo", "--scenes", "8", "--epochs", "2")
    result = call("demo", *options)
    assert result.code == 0, result.err
    for row in ("unary", "SGD", "int+nrl"):
        assert row in result.out
    assert str(tmp_path / "demo") in result.err.splitlines()[-1]
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    assert list((tmp_path / "demo" / "figures").glob("*.png"))
    assert call("demo", *options).code == 0  # a second time goes on with what is there
    scene = tmp_path / "demo/scenes/images/scene_0000.png"
    drawn = scene.read_bytes()
    for changes in (("--epochs", "3"), ("--seed", "1"), ("--scenes", "9")):
        other = call("demo", *options, *changes)
        assert other.code == 1
        assert "other settings" in other.err
    assert scene.read_bytes() == drawn
