"""Every trap that carries a config gives its expectation, or is refused with a reason that names what is missing."""

from __future__ import annotations

from pathlib import Path

from traps import differences, with_config

from atlas.interpret import derive


def test_no_trap_is_fallen_into(shared: Path) -> None:
    """No expectation is missed by a derived fragment; at most one fragment in ten is refused, for what it lacks."""
    traps = with_config(shared)
    derived = {trap["id"]: derive(trap["config"], name=trap["id"]) for trap in traps}
    missed = {t["id"]: differences(t, derived[t["id"]]) for t in traps if derived[t["id"]].model is not None}
    assert {name: found for name, found in missed.items() if found} == {}
    refused = [d.fingerprint.refusal_kind for d in derived.values() if d.model is None]
    assert set(refused) <= {"missing_key"}
    assert len(refused) <= len(traps) / 10
