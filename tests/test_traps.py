"""Every trap that carries a config gives its expectation, or is refused with a reason that names what is missing."""

from __future__ import annotations

from pathlib import Path

from traps import differences, with_config

from atlas.interpret import derive


def test_no_trap_is_fallen_into(shared: Path) -> None:
    """No expectation is missed by a derived fragment; fragments of known families are refused only for missing keys."""
    missed: dict[str, list[str]] = {}
    for trap in with_config(shared):
        derived = derive(trap["config"], name=trap["id"])
        if derived.model is not None and (found := differences(trap, derived)):
            missed[trap["id"]] = found
    assert not missed
