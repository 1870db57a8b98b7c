"""Every row of a language model tried on one config, the likeliest first."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple, cast

from atlas.checkpoint.header import compare
from atlas.checkpoint.packing import Listing
from atlas.derived import Derived
from atlas.families.loader import ALWAYS, IRRELEVANT, available, family, known, row
from atlas.interpret import derive
from atlas.parse import Raw
from atlas.reading.config import TOKENS
from schemas.vocabulary import Origin

AKIN = 3
"""Unread keys that a like name weighs as much as."""
COMPARED = 24
"""Rows that are held against a header: the first by their keys."""
LETTERS = 6
"""First letters that two names share where they are alike, if neither continues the other."""
NAMES = frozenset(("model_type", "architectures", "auto_map"))
"""Keys that name a family or a class."""
NESTED = ("text_config", "language_config", "llm_config", "decoder", "talker_config", "thinker_config")


class Near(NamedTuple):
    """A row tried on the config: how much of it the row reads, what it then says, and what a header says of that."""

    family: str
    likeness: float
    unread: tuple[str, ...]
    params_total: int | None
    kv_bytes_per_token: int | None
    refused: str | None
    header: str | None
    differences: int | None
    unlike: bool  # the row builds experts and the config speaks of none, or the other way about
    taken: dict[str, Any]  # what the row's class takes for keys that the config leaves out


def likely(text: Raw, kind: str | None, held: str | None, listing: Listing | None) -> list[Near]:
    """All rows of language models, `held` first: the one that a wrapper's config names. Then by `_order`.

    Where there is a listing, the first of them are held against it.
    """
    own = own_keys(text)
    ranked = sorted((_tried(m, own, text) for m in plain()), key=lambda n: (n.family != held, *_order(n, kind)))
    if listing is None:
        return ranked
    compared = [_held(n, text, listing) for n in ranked[:COMPARED]]
    return sorted(compared, key=lambda n: (n.family != held, *_order(n, kind))) + ranked[COMPARED:]


def inner(data: Raw) -> tuple[Raw, str | None]:
    """The config of the language model, and the key it stands under where it is nested."""
    for key in NESTED:
        held: Any = data.get(key)
        if isinstance(held, dict) and "hidden_size" in held:
            return cast("Raw", held), key
    return data, None


def own_keys(text: Raw) -> set[str]:
    """The keys that are stated and may say something."""
    return {k for k, v in text.items() if v is not None and k not in IRRELEVANT and not k.endswith(TOKENS)}


def plain() -> list[str]:
    """The rows of language models: wrappers have none of their keys."""
    return [m for m in available() if known(m) and family(m).text is None]


@cache
def spoken(model_type: str) -> frozenset[str]:
    """The keys that a row knows: read under any spelling, or reviewed as saying nothing by this row itself."""
    rules = family(model_type)
    return frozenset(rules.named | (rules.irrelevant - IRRELEVANT))


def _likeness(own: set[str], model_type: str) -> float:
    """The share of the config's keys that a row knows, less a little for its own keys that the config lacks."""
    says = spoken(model_type)
    return (len(own & says) - 0.05 * len(says - own)) / max(len(own), 1)


def _tried(model_type: str, own: set[str], text: Raw) -> Near:
    """What a row says of the config."""
    d = _derived(model_type, text)
    f, likeness = d.fingerprint, round(_likeness(own, model_type), 3)
    unlike = f.is_moe not in (None, _many(text))
    total, kv = f.params_total, f.kv_bytes_per_token
    return Near(model_type, likeness, d.unread, total, kv, f.refusal_reason, None, None, unlike, _taken(d))


def _derived(model_type: str, text: Raw) -> Derived:
    """The config under a row's rules, its own names taken away."""
    return derive({k: v for k, v in text.items() if k not in NAMES} | {"model_type": model_type})


def _held(n: Near, text: Raw, listing: Listing) -> Near:
    """The row with what a header says of it."""
    model = _derived(n.family, text).model
    if model is None:
        return n
    found = compare(model, family(n.family), listing)
    return n._replace(header=found.check.value, differences=len(found.differences))


def _many(text: Raw) -> bool:
    return any("expert" in k and type(v) is int and v > 1 for k, v in text.items())


def _taken(d: Derived) -> dict[str, Any]:
    default = Origin.CLASS_DEFAULT.value
    return {e.field: e.value for e in d.evidence if e.origin == default and e.value is not None}


def _order(n: Near, kind: str | None) -> tuple[Any, ...]:
    """A header that fits goes first, then rows that derive, then what leaves least to be explained.

    That is keys which the row does not read and sizes which it takes of its own; a like name counts for some. Of
    two that leave as much, the one that more rows extend is the plainer.
    """
    akin = kind is not None and _akin(kind, n.family)
    derives = n.header != "exact", n.refused is not None, n.differences or 0, n.unlike
    open_ = len(n.unread) + _sizes(n.taken) - AKIN * akin
    generations = _between(kind, n.family) if akin else 0
    return (*derives, open_, generations, -_followers()[n.family], -n.likeness, n.family)


@cache
def _followers() -> Counter[str]:
    return Counter(parent for m in available() if isinstance(parent := row(m).get("extends"), str))


def _sizes(taken: dict[str, Any]) -> int:
    """How many whole numbers there are, but for those that bound a context; switches, words and bases shape little."""
    return sum(type(v) is int and v > 0 and k not in ALWAYS for k, v in taken.items())


def _akin(kind: str, model_type: str) -> bool:
    """Whether two names begin alike: olmo2 and olmo3, lfm2 and lfm2_moe, granitemoehybrid and granitemoeshared."""
    one, other = (re.split(r"[\d_.-]", name, maxsplit=1)[0] for name in (kind, model_type))
    begun = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return begun >= LETTERS or 1 < begun == min(len(one), len(other))


def _between(kind: str | None, model_type: str) -> int:
    """How many generations lie between two names: olmo3 is one from olmo2 and two from olmo."""
    numbers = [re.search(r"\d{1,4}", name or "") for name in (kind, model_type)]
    one, other = (1 if n is None else int(n.group()) for n in numbers)
    return abs(one - other)
