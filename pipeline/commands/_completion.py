"""What a shell completes a MODEL and the values of options with; the module is no command."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def models_named(incomplete: str) -> list[str]:
    """Names of the atlas that complete a word at a shell's prompt; none where the word is a path, which shells know."""
    if incomplete.startswith((".", "/", "~", "-")):
        return []
    from pipeline.ask import resolver
    from pipeline.ask.found import Asking
    from pipeline.errors import AtlasError

    try:
        known = resolver.known_names(Asking(home=Path(os.environ.get("ATLAS_HOME", "."))))
    except AtlasError:
        return []
    return [n for n in known if n.startswith(incomplete)][:50]


def cache_types(incomplete: str) -> list[str]:
    """Types of a cache that begin so: those that sheets and comparisons know."""
    from pipeline.sheets.widths import WIDTHS

    return _beginning(incomplete, WIDTHS)


def kept_types(incomplete: str) -> list[str]:
    """Types of a cache that begin so: those that engines keep it in."""
    from pipeline.engines.types import KNOWN

    return _beginning(incomplete, KNOWN)


def stored_forms(incomplete: str) -> list[str]:
    """Forms of weights that begin so."""
    from atlas.stored.hypothetical import WORDS

    return _beginning(incomplete, WORDS)


def stored_or_forms(incomplete: str) -> list[str]:
    """The same, and the form that the files have."""
    return [*_beginning(incomplete, ["stored"]), *stored_forms(incomplete)]


def gpus_named(incomplete: str) -> list[str]:
    """GPUs of the table whose names begin so."""
    from pipeline.serve.gpus import table

    return _beginning(incomplete, table())


def engines_named(incomplete: str) -> list[str]:
    """Engines whose names begin so."""
    from pipeline.engines.named import MODULES

    return _beginning(incomplete, MODULES)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
