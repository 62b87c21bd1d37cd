import pytest

from neuralfactors._experiment import VARIANTS
from neuralfactors._runs import NAMES, STATE_OF_THE_ART, TABLED, variant_key


def test_variants_are_the_rows_of_the_paper():
    assert TABLED == ("unary", "CP", "SGD", "int+lin", "bif+nrl", "int+nrl", "int+lin-dagger", "3-layer")
    assert tuple(NAMES) == (*TABLED, STATE_OF_THE_ART)
    assert [name.key for name in NAMES.values()] == list(NAMES)


def test_every_name_has_a_model():
    assert set(VARIANTS) == set(NAMES)


def test_variants_by_their_printed_names():
    assert variant_key("int†+lin") == "int+lin-dagger"
    assert [variant_key(name.printed) for name in NAMES.values()] == list(NAMES)
    with pytest.raises(ValueError, match=r"variant must be one of unary, CP, .*, got 'best'"):
        variant_key("best")
