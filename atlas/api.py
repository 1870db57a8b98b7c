"""The library's front door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from atlas.parse import MAX_BYTES


def inspect(config: dict[str, Any] | bytes | str | Path, *, name: str | None = None) -> Fingerprint:
    """The fingerprint of one config: a parsed object, its bytes, or the path of a file or a checkpoint folder.

    Bytes are at 2 bytes an element unless a column's name says otherwise. A config that cannot be derived comes back
    with verdict
    "refused", a `refusal_kind` and a `refusal_reason`; nothing is raised for it. Raises `OSError` where a path cannot
    be read.
    """
    return derive(read(Path(config)) if isinstance(config, str | Path) else config, name=name).fingerprint


def read(path: Path) -> bytes:
    """The bytes of a config file, or of a folder's config.json; no more than one byte beyond what is ever parsed."""
    with (path / "config.json" if path.is_dir() else path).open("rb") as file:
        return file.read(MAX_BYTES + 1)
