"""The mark of void, which all rooms share."""

import re
from pathlib import Path

from neuralfactors._common.labels import VOID

ROOT = Path(__file__).parents[2]


def test_void_is_defined_once():
    defined = [path for path in (ROOT / "src").rglob("*.py") if re.search("^VOID =", path.read_text(), re.MULTILINE)]
    assert [path.name for path in defined] == ["labels.py"]
    assert VOID == -1
