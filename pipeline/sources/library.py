"""What `atlas` hands on as a library: a config's fingerprint, wherever the config is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from pipeline.sources.disk import read


def inspect(config: dict[str, Any] | bytes | str | Path, *, name: str | None = None) -> Fingerprint:
    """The fingerprint of one config: a parsed object, its bytes, or the path of a file or a checkpoint folder.

    Bytes are at 2 bytes an element unless a column's name says otherwise. A config that cannot be derived comes back
    with verdict "refused", a `refusal_kind` and a `refusal_reason`; nothing is raised for it. Raises `OSError` where a
    path cannot be read.
    """
    return derive(read(Path(config)) if isinstance(config, str | Path) else config, name=name).fingerprint
