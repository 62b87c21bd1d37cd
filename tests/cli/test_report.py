"""report: the page is written, and its path printed."""

from pathlib import Path


def test_report_is_written(call, trained):
    result = call("report", trained)
    assert result.code == 0, result.err
    assert "int+nrl" in Path(result.out.strip()).read_text()
