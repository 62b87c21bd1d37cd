"""The mark of void, which all rooms share."""

import re
from pathlib import Path

import numpy as np
import pytest

from neuralfactors._common.labels import VOID, refuse_masked

ROOT = Path(__file__).parents[2]


def test_a_mask_that_hides_something_is_refused():
    refuse_masked(np.ma.array([1, 2]), "y")
    refuse_masked([1, 2], "y")
    with pytest.raises(ValueError, match=r"y must not have masked entries: fill them, with -1 where there is no label"):
        refuse_masked(np.ma.masked_equal([1, 2], 2), "y")
    with pytest.raises(ValueError, match=r"x must not have masked entries: fill them, with zeros"):
        refuse_masked(np.ma.masked_all(2), "x", "zeros")


def test_void_is_defined_once():
    defined = [path for path in (ROOT / "src").rglob("*.py") if re.search("^VOID =", path.read_text(), re.MULTILINE)]
    assert [path.name for path in defined] == ["labels.py"]
    assert VOID == -1
