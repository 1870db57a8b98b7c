"""Whether the names in settings are names of the structure.

A name that stands for no module means that this checkpoint calls its modules otherwise: what a list leaves out, or a
target takes, would then be missed without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from atlas.checkpoint.naming import pattern
from atlas.stored.form import Unsaid
from atlas.stored.matching import shell, spellings
from atlas.stored.settings import Settings
from atlas.stored.units import Unit

_LISTS = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers", "quantized_layers", "extra_config")
_OF_LAYERS = "layers."


def named(s: Settings) -> frozenset[str]:
    """The modules that settings name: of a pattern what stands before its star."""
    names = (n for key in _LISTS for n in _names(s.get(key)))
    return frozenset(n.partition("*")[0] for n in names if not n.startswith(("re:", "*")))


def covered(found: Iterable[Unit], s: Settings) -> None:
    """Raises `Unsaid` where the settings name a module of a layer that the structure does not have."""
    listed = {pattern(n) for key in _LISTS for n in _names(s.get(key)) if _OF_LAYERS in n and not n.startswith("re:")}
    if not listed:
        return
    known = {spelled for form in {pattern(u.name) for u in found} for spelled in _forms(form)}
    for name in sorted(listed - known):
        taken = shell([name])
        if "*" not in name or not any(taken(k) for k in known):
            raise Unsaid(f"the settings name {name[:80]!r} (# is a number), which is no module of the structure")


def _names(listed: object) -> Iterator[str]:
    if isinstance(listed, list | dict):
        yield from (x for x in listed if isinstance(x, str))  # pyright: ignore[reportUnknownVariableType]


def _forms(form: str) -> Iterator[str]:
    """Every spelling of a tensor's name with its numbers left open, and of all that it stands in."""
    for spelled in spellings(form):
        at = spelled
        while at:
            yield at
            at = at.rpartition(".")[0]
