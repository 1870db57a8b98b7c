"""Every trap that carries a config gives its expectation, or is refused with a reason that names what is missing."""

from __future__ import annotations

from pathlib import Path

from traps import Trap, differences, with_config

from atlas.interpret import Derived, derive

NEEDLESS = 5
"""Fragments that may be refused although numbers are expected: those of families without rules, and of no family."""


def derived_of(shared: Path) -> list[tuple[Trap, Derived]]:
    """Every case with what the atlas makes of it."""
    return [(trap, derive(trap["config"], name=trap["id"])) for trap in with_config(shared)]


def test_no_trap_is_fallen_into(shared: Path) -> None:
    """No expectation is missed by a derived fragment; where a refusal is expected, `assumed` is right as well."""
    missed = {
        trap["id"]: differences(trap, d)
        for trap, d in derived_of(shared)
        if d.model is not None and not (trap["expect"].get("error_kind") and d.fingerprint.verdict == "assumed")
    }
    assert {name: found for name, found in missed.items() if found} == {}


def test_what_should_be_refused_is_never_known_without_numbers_to_expect(shared: Path) -> None:
    """A case that expects a refusal and no numbers is refused or assumed."""
    wrong = [
        trap["id"]
        for trap, d in derived_of(shared)
        if set(trap["expect"]) == {"error_kind"} and d.fingerprint.verdict == "known"
    ]
    assert wrong == []


def test_hardly_any_trap_is_refused_without_need(shared: Path) -> None:
    """Cases with numbers and no expected refusal are derived, but for those of a family without rules or name."""
    found = derived_of(shared)
    needless = [t["id"] for t, d in found if d.model is None and not t["expect"].get("error_kind")]
    assert len(needless) <= NEEDLESS
