"""Which files a word may name: any for a person at a terminal; for an agent, those of the folders its operator allows.

A link counts as what it leads to, and a folder of weights as all that is read of it. What may not be read is spoken of
like what is not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.ask.found import Asking
from pipeline.errors import NotFound
from pipeline.text import shorten, terminal

_A_PATH = re.compile(r"[./~\\]|.*\.(?:json|gguf|safetensors)|[A-Za-z]:[\\/]", re.IGNORECASE | re.DOTALL)


def existing(wanted: str, asking: Asking) -> Path | None:
    """The path that a word is, where there is one and it may be read."""
    try:
        if asking.roots is None:
            path = Path(wanted)
            return path if path.exists() else None
        return next((p for root in asking.roots if (p := _under(root, wanted)) is not None), None)
    except (OSError, ValueError, RuntimeError):  # a name too long, with a null, or links in a circle
        return None


def no_path(wanted: str, asking: Asking) -> None:
    """Raise `NotFound` for a word that can only be a path, and is none that may be read."""
    if not _A_PATH.match(wanted):
        return
    said = shorten(terminal(wanted), 100)
    if asking.roots is None:
        raise NotFound(f"{said} does not exist: give a config, a folder, a file of weights, or a name")
    where = "; they are given relative to it" if asking.roots else ""
    raise NotFound(f"{said} is no file that may be read here: whoever runs the server allows a folder (--root){where}")


def stdin(asking: Asking) -> None:
    """Raise `NotFound` where stdin is not the reader's own."""
    if asking.roots is not None:
        raise NotFound("stdin is the line to this server and no config: give a model's name")


def _under(root: Path, wanted: str) -> Path | None:
    """What a word names in a root, by its whole path or from the root on; None where it leads out of it."""
    place = root.resolve()
    path = root / wanted
    inside = [path, *path.iterdir()] if path.is_dir() else [path]
    return path if path.exists() and _all_within(place, inside) else None


def _all_within(place: Path, paths: Sequence[Path]) -> bool:
    """Whether all are files or folders of a place, links followed; a pipe or a device is neither."""
    real = [p.resolve() for p in paths]
    return all(p.is_relative_to(place) and (p.is_file() or p.is_dir() or not p.exists()) for p in real)
