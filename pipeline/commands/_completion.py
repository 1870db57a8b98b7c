"""What a shell completes a MODEL with; the module is no command."""

from __future__ import annotations

import os
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
