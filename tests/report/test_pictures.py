"""Pictures of examples, and the colours of classes."""

from neuralfactors.report.pictures import palette
from neuralfactors.runs import ClassInfo


def test_colours_of_a_palette_all_differ():
    infos = [ClassInfo(str(k), (255, 255, 250)) for k in range(600)]
    assert len(set(palette(infos))) == 601
