"""Where the checkout, its tests and what stands beside them are."""

from __future__ import annotations

from pathlib import Path

SUPPORT = Path(__file__).parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
FIXTURES = TESTS / "fixtures"
SHARED = ROOT.parent / "shared"
