"""The atlas of language-model architectures: config in, exact architecture with evidence out.

>>> import atlas
>>> atlas.inspect({"model_type": "gpt2"}).params_total
124439808
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atlas.derived import Derived
    from atlas.interpret import derive
    from atlas.numbers.fingerprint import Evidence, Fingerprint, LayerRow
    from pipeline.sources.library import inspect

__all__ = ["Derived", "Evidence", "Fingerprint", "LayerRow", "derive", "inspect"]

_HOMES = {
    "inspect": "pipeline.sources.library",
    "derive": "atlas.interpret",
    "Derived": "atlas.derived",
    "Evidence": "atlas.numbers.fingerprint",
    "Fingerprint": "atlas.numbers.fingerprint",
    "LayerRow": "atlas.numbers.fingerprint",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is asked for: `atlas --help` needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'atlas' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
