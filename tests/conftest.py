"""Settings and fixtures for all tests: hypothesis profiles, and markers of tests that need more than the package."""

import os
import shutil
import signal
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import settings

# Where the tests run in the background, shells have them ignore Ctrl-C, and so would the commands that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before torch is imported: threads that wait by spinning slow the tests down where cores are shared.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Tests leave the number of examples to the profile, so that it can be lowered for the slow instrumented kernel.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("sanitize", settings.get_profile("default"), max_examples=15)
settings.load_profile("default")


def find_data():
    """The folder with the public data sets, or the reason why there is none."""
    name = os.environ.get("NEURALFACTORS_DATA")
    if not name:
        return None, "NEURALFACTORS_DATA is not set"
    if not Path(name).is_dir():
        return None, f"NEURALFACTORS_DATA={name} is not a folder"
    return Path(name), ""


def find_chromium():
    """The path of a Chromium or Chrome, or the reason why there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    return path, "" if path else f"none of {', '.join(names)} is installed"


REQUIREMENTS = {"realdata": find_data, "browser": find_chromium}


def pytest_collection_modifyitems(items):
    reasons = {marker: find()[1] for marker, find in REQUIREMENTS.items()}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{marker}: {reason}"))


@pytest.fixture(scope="session")
def data_dir():
    """The folder with the public data sets; for tests marked `realdata`."""
    path, reason = find_data()
    return path or pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium():
    """The path of the browser; for tests marked `browser`."""
    path, reason = find_chromium()
    return path or pytest.skip(reason)


@pytest.fixture
def dask_cluster():
    """A Dask cluster of two workers."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    # Starting workers sets numbers of threads in this process's environment too, for all that is started after it.
    with (
        patch.dict(os.environ),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        yield cluster
