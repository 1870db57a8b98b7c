"""What to look up in the class's code, the things that no total can find first; with the rows that know each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from atlas.drafting.near import Near
from atlas.families.loader import family

NAMED = 3
"""Rows that one question names."""
WIDE = 40
"""Characters of a value that a question shows."""
SILENT = re.compile(
    r"loop|ut_steps|pass(es)?$|share(?!d_(expert|intermediate))|source|reuse|window|chunk|bidirec|causal|block_size"
    r"|cache|ngram|engram|rope|rotary|position|layer_types|layers_block_type"
)
"""Words of keys that may change a cache, positions or a table, and no total."""
LISTED = ("layer_types", "layers_block_type")
"""Keys that call each layer by a word."""


def questions(text: Mapping[str, Any], strange: tuple[str, ...], base: Near, others: list[str]) -> tuple[str, ...]:
    """What to look up of a config: `strange` are keys that the nearest row `base` does not know, `others` the rest."""
    silent = [k for k in strange if SILENT.search(k)]
    asked = [f"{k} = {short(text[k])}: which cache, loop, position or table does it change? {_readers(k, others)}"
             for k in silent]  # fmt: skip
    asked += _words(text, base.family, others)
    asked += [f"{k} = {short(text[k])}: does it shape a tensor? {_readers(k, others)}"
              for k in strange if k not in silent]  # fmt: skip
    if base.taken:
        said = ", ".join(f"{k} = {short(v)}" for k, v in sorted(base.taken.items()))
        asked.append(f"not stated here, and {base.family} takes {said}: what does this class take?")
    if "tie_word_embeddings" not in text and "tie_word_embeddings" not in base.taken:
        asked.append("tie_word_embeddings is not stated: what does the class take?")
    if "num_key_value_heads" in text and "head_dim" not in text and "head_dim" not in base.taken:
        asked.append("head_dim is not stated: hidden_size over heads, or a default of the class?")
    asked.append("which projections have a bias, and where do norms stand? hold [facts] below against the modules")
    if base.header != "exact":
        asked.append("a header or the Hub's total proves the weights, and no loop, window or shared cache")
    return tuple(asked)


def outside(base: Near) -> tuple[str, ...]:
    """What to look up of a wrapper whose language model has a row."""
    total = "what they have" if base.params_total is None else f"what the total has beyond {base.params_total:,}"
    return (
        "which encoders and projectors stand beside the language model, and whose head is tied: the class decides",
        f"a published total proves them: {total} is theirs (a row in families/towers), drafts' or a second head",
    )


def short(value: Any) -> str:
    """A value in so few characters that a line holds it."""
    text = repr(value)
    return text if len(text) <= WIDE else text[: WIDE - 3] + "..."


def _readers(key: str, others: list[str]) -> str:
    found = [m for m in others if key in family(m).named][:NAMED]
    return f"read by {', '.join(found)}" if found else "no row reads it"


def _words(text: Mapping[str, Any], base: str, others: list[str]) -> Iterator[str]:
    """The words of a list of layers that the row has no mixer for."""
    lists: list[Any] = [text[k] for k in LISTED if isinstance(text.get(k), list)]
    for word in sorted({w for each in lists for w in each if isinstance(w, str)} - family(base).mixers.keys()):
        found = [m for m in others if word in family(m).mixers][:NAMED]
        yield f"a layer is called {word}: {base} has no such mixer; in {', '.join(found) or 'no other row'}"
