"""The atlas of language-model architectures: config in, exact architecture with evidence out.

>>> import atlas
>>> atlas.inspect({"model_type": "gpt2"}).params_total
124439808
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atlas.derived import Derived
    from atlas.interpret import derive
    from atlas.numbers.fingerprint import Evidence, Fingerprint, LayerRow
    from pipeline import errors
    from pipeline.serve.api import fit
    from pipeline.session.snapshot import open_snapshot as open  # noqa: A004 - atlas.open is what it is called
    from pipeline.sources.library import inspect

__all__ = ["Derived", "Evidence", "Fingerprint", "LayerRow", "derive", "errors", "fit", "inspect", "open"]

_HOMES = {
    "inspect": "pipeline.sources.library",
    "derive": "atlas.interpret",
    "Derived": "atlas.derived",
    "Evidence": "atlas.numbers.fingerprint",
    "Fingerprint": "atlas.numbers.fingerprint",
    "LayerRow": "atlas.numbers.fingerprint",
    "fit": "pipeline.serve.api",
    "open": "pipeline.session.snapshot",
    "errors": "pipeline",
}
_CALLED = {"open": "open_snapshot"}
"""Names that are others in their modules, where they would hide a builtin."""


def _own(package: str) -> None:
    """See that a package of ours is the one that would be imported; raises `ImportError` naming what is in its way."""
    found = find_spec(package)
    stands = None if found is None or found.origin is None else Path(found.origin).parent
    if stands != Path(__file__).parents[1] / package:
        raise ImportError(
            f"the atlas needs its own package '{package}', but {stands or f'a folder {package} without modules'} comes "
            "first on sys.path: rename that folder, or start Python elsewhere"
        )


_own("schemas")


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is asked for: `atlas --help` needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'atlas' has no attribute {name!r}")
    _own(_HOMES[name].partition(".")[0])
    if name == "errors":
        return import_module("pipeline.errors")
    return getattr(import_module(_HOMES[name]), _CALLED.get(name, name))
