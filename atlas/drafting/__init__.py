"""A row proposed for a config whose family has none.

`near` tries the rows at hand on it, `asked` says what to look up, `written` is a file to start from.

Nothing here is a proof. A near row that gives the Hub's total or fits a header proves weights; loops, caches that
others read, windows and looked-up tables leave no trace in either, so that the class's own code has to be read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from atlas.checkpoint.packing import Listing
from atlas.drafting import asked, written
from atlas.drafting.near import NAMES, Near, inner, likely, own_keys, plain, spoken
from atlas.families.loader import IRRELEVANT
from atlas.parse import Raw
from atlas.reading.config import TOKENS

__all__ = ["Draft", "Near", "draft"]
SHOWN = 5


class Draft(NamedTuple):
    """The names a file gives, near rows the nearest first, keys to read about, and a row to start from."""

    model_type: str | None
    cls: str | None
    near: tuple[Near, ...]
    strange: tuple[str, ...]
    questions: tuple[str, ...]
    row: str


def draft(data: Raw, listing: Listing | None = None) -> Draft:
    """The proposal for a parsed config and, where there is one, the listing of its checkpoint's tensors."""
    text, where = inner(data)
    stated, cls = data.get("model_type"), _first(data.get("architectures"))
    kind = stated if isinstance(stated, str) else None
    held = _has_row(text.get("model_type")) if where is not None else None
    ranked = likely(text, kind, held, listing)
    base = ranked[0]
    near, strange = tuple(ranked[:SHOWN]), tuple(sorted(own_keys(text) - spoken(base.family)))
    if where is not None and held is not None:
        beside = sorted(k for k, v in data.items() if k != where and v is not None and k not in IRRELEVANT | NAMES)
        row = written.wrapper(kind, cls, base, where, [k for k in beside if not k.endswith(TOKENS)])
        return Draft(kind, cls, near, strange, asked.outside(base), row)
    others = [n.family for n in ranked[1:]]
    row = written.row(kind, cls, base, strange, where)
    return Draft(kind, cls, near, strange, asked.questions(text, strange, base, others), row)


def _has_row(model_type: Any) -> str | None:
    """A language model's model_type that has a row: what a wrapper holds is described already then."""
    return model_type if isinstance(model_type, str) and model_type in plain() else None


def _first(named: Any) -> str | None:
    first: Any = named[0] if isinstance(named, list) and named else None  # pyright: ignore[reportUnknownVariableType]
    return first if isinstance(first, str) else None
