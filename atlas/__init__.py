"""The atlas of language-model architectures: config in, exact architecture with evidence out.

>>> import atlas
>>> atlas.inspect({"model_type": "llama", "hidden_size": 4096}).verdict
'known'
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atlas.fingerprint import Evidence, Fingerprint, LayerRow
from atlas.interpret import Derived, derive

__all__ = ["Derived", "Evidence", "Fingerprint", "LayerRow", "derive", "inspect"]


def inspect(config: dict[str, Any] | bytes | str | Path, *, name: str | None = None) -> Fingerprint:
    """The fingerprint of one config: a parsed object, its bytes, or the path of a file or a checkpoint folder.

    Bytes are at 2 bytes an element unless a name says otherwise. A config that cannot be derived comes back with verdict "refused",
    a `refusal_kind` and a `refusal_reason`; nothing is raised for it. Raises `OSError` where a path cannot be read.
    """
    if isinstance(config, str | Path):
        path = Path(config)
        config = (path / "config.json" if path.is_dir() else path).read_bytes()
    return derive(config, name=name).fingerprint
