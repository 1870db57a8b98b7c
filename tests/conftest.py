"""What several test files share."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from places import SHARED

from pipeline import durable

# Prefect reads its settings at import. Its first server takes longer than its twenty seconds, and nothing of a test
# may land in the database of whoever runs it.
_PREFECT_HOME = tempfile.mkdtemp(prefix="atlas-prefect-")
atexit.register(shutil.rmtree, _PREFECT_HOME, ignore_errors=True)
os.environ |= {
    "PREFECT_HOME": _PREFECT_HOME,
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}

# Workers are started by the first process, and find its folder.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["ATLAS_TESTS_TOGETHER"] = tempfile.mkdtemp(prefix="atlas-tests-")
    atexit.register(shutil.rmtree, os.environ["ATLAS_TESTS_TOGETHER"], ignore_errors=True)

SITE = "tests/pipeline/site/"

# A shared machine makes single examples slow without anything being wrong.
hypothesis.settings.register_profile("atlas", deadline=None)
hypothesis.settings.load_profile("atlas")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several workers, files with slow tests first: begun last, one would keep a worker busy after the others."""
    if not hasattr(config, "workerinput"):
        return
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker takes a whole file; the files that look at the catalogue's site go to one, which builds it once."""
    from xdist.scheduler.loadfile import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return SITE if file.startswith(SITE) else file

    return Files(config, log)


@pytest.fixture(autouse=True)
def _no_point_was_passed() -> None:
    """What fails at the nth passage of a point counts from here, whatever ran in this process before."""
    durable._passages.clear()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data that stands beside the checkout in development and CI."""
    if not SHARED.is_dir():
        pytest.skip("the shared reference data is not beside this checkout")
    return SHARED
