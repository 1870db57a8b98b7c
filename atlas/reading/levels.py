"""What a wrapper's file says where none of its levels states whether the head is tied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.parse import Raw

if TYPE_CHECKING:
    from atlas.families.rules import Family

TIE = "tie_word_embeddings"
LEFT_OUT = (
    "no level states it, and the file was saved by transformers 4, which left out what the language model's class "
    "takes by default: false; the wrapper's class has taken true since 5.0"
)
"""Why a tie that nobody states is false in an older file."""


def older(outer: Raw) -> bool:
    """Whether a wrapper's file was saved by a release in which the language model's level alone decided the tie."""
    version: Any = outer.get("transformers_version")
    return isinstance(version, str) and version.startswith("4.")


def silent(raw: Raw, outer: Raw, rules: Family) -> bool:
    """Whether no level of a wrapper's file states a tie, and the wrapper's class has tied since 5.0 what was untied.

    Files leave out what equals a class's default, which was the language model's then (transformers, issue 42313:
    Mistral Small 3.2 states no tie, stores its head, and is tied by the new wrapper's default). A bare model_type is
    no file, and is what the library makes of it.
    """
    if outer is raw or outer.get(TIE) is not None or raw.get(TIE) is not None or not outer.get("architectures"):
        return False
    return rules.outer.get(TIE) is True and rules.defaults.get(TIE) is False and rules.outer.get("ties") is None
