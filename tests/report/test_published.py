"""The paper's figures: shares of one, of the variants and classes that we know."""

import pytest

from neuralfactors._experiment import Preset
from neuralfactors._report.published import published
from neuralfactors._runs import NAMES, STATE_OF_THE_ART, TABLED, USUAL

SETS = ("msrc21", "kitti", "siftflow")


@pytest.mark.parametrize("preset", SETS)
def test_every_set_has_the_rows_of_the_paper(preset):
    paper = published(preset, "bow")
    assert set(paper.rows) <= set(TABLED)
    assert {"unary", "CP", "SGD", "int+lin", "bif+nrl", "int+nrl"} <= set(paper.rows)
    assert set(paper.seconds_per_epoch) == {USUAL}
    assert paper.seconds_per_epoch[USUAL] > 0
    classes = {name.lower() for name in Preset.read(preset).classes}
    for figures in paper.rows.values():
        assert 0 < figures.pixel <= 1
        assert 0 < figures.class_mean <= 1
        assert all(0 <= share <= 1 for share in figures.per_class.values())
        assert {name.lower() for name in figures.per_class} <= classes


@pytest.mark.parametrize("preset", ["msrc21", "kitti"])
def test_the_mean_of_the_classes_is_that_of_the_paper(preset):
    for figures in published(preset, "bow").rows.values():
        if figures.per_class:
            mean = sum(figures.per_class.values()) / len(figures.per_class)
            assert mean == pytest.approx(figures.class_mean, abs=0.012)  # which prints whole percents


def test_the_papers_best_row_is_its_own():
    for preset in SETS:
        rows = published(preset, "bow").rows
        assert rows[USUAL].pixel == max(rows[key].pixel for key in ("unary", "SGD", "CP", "bif+nrl", USUAL))


@pytest.mark.parametrize("features", ["cnn", "bow+cnn"])
def test_cnn_features_have_a_table_of_their_own(features):
    paper = published("msrc21", features)
    assert set(paper.rows) == {STATE_OF_THE_ART}
    assert len(paper.others) >= 3
    assert NAMES[STATE_OF_THE_ART].printed not in paper.others
    assert published("kitti", features).rows == {}


@pytest.mark.parametrize("preset", [None, "scenes", "msrc21_sota", "", "seconds_per_epoch_int+nrl"])
def test_other_sets_have_none(preset):
    paper = published(preset, "bow")
    assert (paper.rows, paper.others, paper.seconds_per_epoch) == ({}, {}, {})
