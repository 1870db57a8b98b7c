"""A row proposed for a config whose family has none: near rows tried on it, keys none reads, what to read next.

Nothing here is a proof. A near row that gives the Hub's total or fits a header proves weights; loops, caches that
others read, windows and looked-up tables leave no trace in either, so that the class's own code has to be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from atlas.checkpoint.header import compare
from atlas.checkpoint.packing import Listing
from atlas.derived import Derived
from atlas.families.loader import IRRELEVANT, available, family, known
from atlas.interpret import derive
from atlas.parse import Raw
from atlas.reading.config import TOKENS

TRIED = 12
"""Near rows by their keys that are tried on the config."""
SHOWN = 5
WIDE = 40
"""Characters of a value that a question shows."""
SILENT = re.compile(
    r"loop|ut_steps|pass(es)?$|share|source|reuse|window|chunk|bidirec|causal|block_size|cache|ngram|engram"
)
"""Words of keys that may change a cache or a table and no total."""
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


class Draft(NamedTuple):
    """The names a file gives, near rows the nearest first, keys to read about, and a row to start from."""

    model_type: str | None
    cls: str | None
    near: tuple[Near, ...]
    strange: tuple[str, ...]
    questions: tuple[str, ...]
    row: str


@cache
def _spoken(model_type: str) -> frozenset[str]:
    """The keys that a row knows: read under any spelling, or reviewed as saying nothing by this row itself."""
    rules = family(model_type)
    return frozenset(rules.named | (rules.irrelevant - IRRELEVANT))


def draft(data: Raw, listing: Listing | None = None) -> Draft:
    """The proposal for a parsed config and, where there is one, the listing of its checkpoint's tensors."""
    inner, where = _inner(data)
    own = {k for k, v in inner.items() if v is not None and k not in IRRELEVANT and not k.endswith(TOKENS)}
    stated, cls = data.get("model_type"), _first(data.get("architectures"))
    kind = stated if isinstance(stated, str) else None
    held = _has_row(inner.get("model_type")) if where is not None else None
    ranked = sorted(_plain(), key=lambda m: (m != held, not _namesake(kind, m), -_likeness(own, m), m))[:TRIED]
    tried = (_tried(m, own, inner, listing) for m in ranked)
    near = sorted(tried, key=lambda n: (n.family != held, *_order(n, kind)))[:SHOWN]
    strange = tuple(sorted(own - _spoken(near[0].family)))
    if where is not None and held is not None:
        beside = sorted(k for k, v in data.items() if k != where and v is not None and k not in IRRELEVANT)
        row = _wrapper(kind, cls, near[0], where, [k for k in beside if k not in NAMES and not k.endswith(TOKENS)])
        return Draft(kind, cls, tuple(near), strange, _outside(near[0]), row)
    return Draft(
        kind, cls, tuple(near), strange, _questions(inner, strange, near), _row(kind, cls, near, strange, where)
    )


NAMES = frozenset(("model_type", "architectures", "auto_map"))


def _has_row(model_type: Any) -> str | None:
    """A language model's model_type that has a row: what a wrapper holds is described already then."""
    return model_type if isinstance(model_type, str) and model_type in _plain() else None


def _outside(near: Near) -> tuple[str, ...]:
    """What to look up of a wrapper whose language model has a row."""
    total = "what they have" if near.params_total is None else f"what the total has beyond {near.params_total:,}"
    return (
        "which encoders and projectors stand beside the language model, and whose head is tied: the class decides",
        f"a published total proves them: {total} is theirs (a row in families/towers), drafts' or a second head",
    )


def _wrapper(kind: str | None, cls: str | None, near: Near, where: str, beside: list[str]) -> str:
    """The file of a wrapper, to start from."""
    lines = [
        f"# {kind or cls or 'a wrapper'}: the language model is the one that {where} names.",
        f'text = {{ key = "{where}", family = "{near.family}" }}',
        f'class_names = ["{cls}"]' if cls else "class_names = []",
        f"# keys beside it, to be read or reviewed: {', '.join(beside) or 'none'}",
        "references = []  # the files that were opened",
        "",
        "[outer]",
        "has_towers = true  # where it holds encoders",
        "",
        "[[expect]]",
        'repo = "owner/name"',
        f"params_total = {near.params_total if near.params_total is not None else 0}  # the language model alone",
        'source = "..."  # the published total less what stands beside it',
    ]
    return "\n".join(lines) + "\n"


def _first(named: Any) -> str | None:
    first: Any = named[0] if isinstance(named, list) and named else None  # pyright: ignore[reportUnknownVariableType]
    return first if isinstance(first, str) else None


def _plain() -> list[str]:
    """The rows of language models: wrappers have none of their keys."""
    return [m for m in available() if known(m) and family(m).text is None]


def _inner(data: Raw) -> tuple[Raw, str | None]:
    """The config of the language model, and the key it stands under where it is nested."""
    for key in NESTED:
        held: Any = data.get(key)
        if isinstance(held, dict) and "hidden_size" in held:
            return cast("Raw", held), key
    return data, None


def _likeness(own: set[str], model_type: str) -> float:
    """The share of the config's keys that a row knows, less a little for its own keys that the config lacks."""
    spoken = _spoken(model_type)
    return (len(own & spoken) - 0.05 * len(spoken - own)) / max(len(own), 1)


def _namesake(kind: str | None, model_type: str) -> bool:
    """Whether one name continues the other: lfm2 and lfm2_moe."""
    return kind is not None and (kind.startswith(model_type) or model_type.startswith(kind))


def _tried(model_type: str, own: set[str], inner: Raw, listing: Listing | None) -> Near:
    """What a row says of the config when the config's own names are taken away."""
    bare = {k: v for k, v in inner.items() if k not in ("architectures", "auto_map")}
    d = derive({**bare, "model_type": model_type})
    f, found = d.fingerprint, None if listing is None or d.model is None else _held(d, model_type, listing)
    check, differences = (None, None) if found is None else found
    likeness, cache_ = round(_likeness(own, model_type), 3), f.kv_bytes_per_token
    return Near(model_type, likeness, d.unread, f.params_total, cache_, f.refusal_reason, check, differences)


def _held(d: Derived, model_type: str, listing: Listing) -> tuple[str, int]:
    assert d.model is not None  # noqa: S101 - the caller asked
    found = compare(d.model, family(model_type), listing)
    return found.check.value, len(found.differences)


def _order(n: Near, kind: str | None) -> tuple[Any, ...]:
    """A header that fits goes first, then rows that derive, namesakes before others, then likeness."""
    derives = n.refused is not None, not _namesake(kind, n.family), n.differences or 0
    return (n.header != "exact", *derives, len(n.unread), -n.likeness, n.family)


def _questions(inner: Mapping[str, Any], strange: tuple[str, ...], near: list[Near]) -> tuple[str, ...]:
    """What to look up in the class's code, the silent things first."""
    silent = [k for k in strange if SILENT.search(k)]
    asked = [f"{k} = {_short(inner[k])}: which cache, loop or table does it change?" for k in silent]
    asked += [f"{k} = {_short(inner[k])}: does it shape a tensor?" for k in strange if k not in silent]
    if "tie_word_embeddings" not in inner:
        asked.append("tie_word_embeddings is not stated: what does the class take?")
    if "num_key_value_heads" in inner and "head_dim" not in inner:
        asked.append("head_dim is not stated: hidden_size over heads, or a default of the class?")
    asked.append("which projections have a bias, and where do norms stand? for most families no key says so")
    if near[0].header != "exact":
        asked.append("a header or the Hub's total proves the weights, and no loop, window or shared cache")
    return tuple(asked)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= WIDE else text[: WIDE - 3] + "..."


def _row(kind: str | None, cls: str | None, near: list[Near], strange: tuple[str, ...], where: str | None) -> str:
    """A TOML file to start from; what is not known is written as a comment."""
    base, total = near[0].family, near[0].params_total
    wrapper = f'# The wrapper needs a file of its own: text = {{ key = "{where}", family = "..." }}'
    lines = [
        f"# {kind or cls or 'a new family'}: say in a sentence what differs from {base}.",
        *[wrapper] * (where is not None),
        f'extends = "{base}"',
        f'class_names = ["{cls}"]' if cls else "class_names = []",
        "# reads: every key the class reads that has no default below",
        f"# to be read or reviewed: {', '.join(strange) or 'none'}",
        "references = []  # the files that were opened",
        "",
        "[defaults]  # what the class takes when a key is absent",
        "",
        "[facts]  # biases, norms and placement where they differ",
        "",
        "[[expect]]",
        'repo = "owner/name"',
        f"params_total = {total if total is not None else 0}  # what {base} says: put the published total",
        'source = "..."',
    ]
    return "\n".join(lines) + "\n"
