import os

import pytest

from scopefl.data.cifar10 import CLASSES
from scopefl.vision.kit import Kit
from scopefl.vision.offline import kit as offline


@pytest.fixture(scope="session")
def offline_cifar(tmp_path_factory) -> Kit:
    """Give the offline kit for CIFAR-10's classes, kept in a cache of this test run."""
    before = os.environ.get("SCOPEFL_CACHE")
    os.environ["SCOPEFL_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    try:
        offline.installed_bridge()
        return Kit.load("offline", CLASSES)
    finally:
        if before is None:
            del os.environ["SCOPEFL_CACHE"]
        else:
            os.environ["SCOPEFL_CACHE"] = before
