"""Braces in the names that rows write: `{q,k}_proj` stands for q_proj and k_proj."""

from __future__ import annotations

import re

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def spread(text: str) -> list[str]:
    """A text with braces written out: `{q,k}_proj` is q_proj and k_proj; `{e}` and `{i}` are left as they are."""
    found = _BRACES.search(text)
    if found is None:
        return [text]
    return [
        each for choice in found[1].split(",") for each in spread(text[: found.start()] + choice + text[found.end() :])
    ]
