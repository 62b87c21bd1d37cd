"""A builder of features that has learnt its words."""

import pytest
from pictures import FEW_WORDS, IMAGES

from neuralfactors.vision import FeatureBuilder


@pytest.fixture(scope="session")
def builder():
    return FeatureBuilder(FEW_WORDS).fit(IMAGES)
