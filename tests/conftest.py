"""What several test files share."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data that stands beside the checkout in development and CI."""
    if not SHARED.is_dir():
        pytest.skip("the shared reference data is not beside this checkout")
    return SHARED
