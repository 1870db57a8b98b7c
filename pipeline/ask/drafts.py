"""`atlas family draft`: a row proposed for a config, as text or as an object."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from atlas.drafting import Draft, Near, draft
from atlas.parse import load
from atlas.refusal import Refused
from pipeline.errors import Invalid, NotFound
from pipeline.sources import headers
from pipeline.sources.disk import read


def show(config: Path, header: Path | None, *, as_json: bool) -> None:
    """Propose a row for a config file or folder, held against a checkpoint's header where one is given."""
    found = _drafted(config, header)
    sys.stdout.write(msgspec.json.encode(_object(found)).decode() + "\n" if as_json else _text(found))


def _drafted(config: Path, header: Path | None) -> Draft:
    if not config.exists():
        raise NotFound(f"{config} does not exist: give a config.json or the folder that holds it")
    try:
        data = load(read(config))
    except Refused as refused:
        raise Invalid(f"{config} is no config: {refused.reason}") from None
    return draft(data, None if header is None else headers.local(header).listing)


def _object(found: Draft) -> dict[str, Any]:
    return {**found._asdict(), "near": [n._asdict() for n in found.near]}


def _text(found: Draft) -> str:
    lines = [
        f"model_type {found.model_type or '(none)'}, class {found.cls or '(none)'}",
        "",
        "near rows, tried on this config:",
    ]
    lines += [f"  {_near(n)}" for n in found.near]
    lines += [
        "",
        "to be read in the class's code:",
        *(f"  {q}" for q in found.questions),
        "",
        "a row to start from:",
        "",
    ]
    return "\n".join(lines) + "\n" + found.row


def _number(n: int | None) -> str:
    return "unknown" if n is None else f"{n:,}"


def _near(n: Near) -> str:
    said = n.refused or f"{_number(n.params_total)} weights, {_number(n.kv_bytes_per_token)} bytes of cache a token"
    held = "" if n.header is None else f"; header {n.header}, {n.differences} differences"
    unlike = "; its layers have experts where the config counts none, or none where it does" if n.unlike else ""
    return f"{n.family} ({n.likeness:.0%} of the keys; {len(n.unread)} unread): {said}{unlike}{held}"
