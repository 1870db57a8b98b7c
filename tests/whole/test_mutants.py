"""Published configs with one key changed: what is known equals what the library's own class makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import differences, mutants

SOME = 4
"""One of so many is asked every day, all of them where there is time."""


def test_no_known_mutant_differs_from_the_library(shared: Path) -> None:
    """Of the mutants kept as data none is known with another number of weights, unless it is explained by name."""
    found = mutants()
    assert len(found) > 3_000
    assert list(differences(shared / "hub" / "configs", found[::SOME])) == []


@pytest.mark.soak
def test_none_of_all_mutants_does(shared: Path) -> None:
    """The same of every one."""
    assert list(differences(shared / "hub" / "configs", mutants())) == []
