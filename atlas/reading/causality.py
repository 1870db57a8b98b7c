"""Whether attention looks both ways: one fact, read here alone, for encoders and decoders alike.

transformers 5.24, masking_utils.py, create_causal_mask: where `config.is_causal` is false the mask is bidirectional,
whatever the class. Gemma 3 and Gemma 4 have a switch of their own (`use_bidirectional_attention`; "vision" joins the
tokens of one image only, and text stays causal).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas.refusal import bad_value

if TYPE_CHECKING:
    from atlas.reading.config import Config

SWITCH = "use_bidirectional_attention"


def looks_both_ways(c: Config) -> bool:
    """Whether nothing is kept between steps because every token sees all others; the key that says so is noted."""
    why = _said(c)
    if why is None:
        return False
    c.derived("attention_mask", "bidirectional", f"{why}: every token sees all others, nothing is kept between steps")
    return True


def _switched(c: Config) -> bool:
    """Gemma 3 says true, Gemma 4 says for which tokens; raises `Refused` where a class is told the other way."""
    stated, words = c.opt(SWITCH), c.rules.facts.get("bidirectional_words", False)
    if stated is not None and (stated not in ("all", "vision") if words else type(stated) is not bool):
        raise bad_value(SWITCH, stated, "all or vision" if words else "true or false")
    return stated in (True, "all")


def _said(c: Config) -> str | None:
    if c.raw.get("is_causal") is False:
        c.read.add("is_causal")
        return "is_causal is false"
    if SWITCH in c.rules.visible and _switched(c):
        return f"{SWITCH} is {str(c.opt(SWITCH)).lower()}"
    if c.rules.facts.get("looks_both_ways"):
        return f"the classes of {c.rules.model_type}"
    return None
