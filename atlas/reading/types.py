"""The type of every key: a text is no number, a list no object, "false" not false. One reader checks a whole config.

The vocabulary holds the keys of the library's config classes and the types that any of them declares; it was made from
their annotations (transformers 5.24, models/*/configuration_*.py). Null says "not set" under every key but those of
`NEVER_NULL`. A whole number may be written 4096.0, and a number without a point is a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from atlas.parse import Raw
from atlas.refusal import bad_value

ALLOWED: Mapping[str, frozenset[type]] = {
    "bool": frozenset((bool,)),
    "int": frozenset((int,)),
    "num": frozenset((int, float)),
    "str": frozenset((str,)),
    "list": frozenset((list,)),
    "obj": frozenset((dict,)),
}
WORDS: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list", dict: "an object"}
NEVER_NULL = frozenset(("tie_word_embeddings",))
"""Keys whose null the library refuses, and that no rule could answer."""
CLOSED = frozenset(("quantization_config", "compression_config", "vision_config", "audio_config", "id2label", "label2id", "task_specific_params"))
"""Objects whose keys speak of something else than a language model's shape."""


@cache
def vocabulary() -> Mapping[str, frozenset[type]]:
    """The Python types that JSON may give each key."""
    text = files("atlas.families").joinpath("_types.json").read_bytes()
    none = type(None)
    found: dict[str, frozenset[type]] = {}
    for kinds, keys in orjson.loads(text).items():
        types = frozenset[type]().union(*(ALLOWED[k] for k in kinds.split()))
        for key in keys.split():
            found[key] = types if key in NEVER_NULL else types | {none}
    return found


def checked(raw: Raw, prefix: str = "") -> None:
    """Raise `Refused` (bad_value) at the first key whose value has another type than any class gives it."""
    known = vocabulary()
    for key, value in raw.items():
        kind = type(value)
        types = known.get(key)
        if types is not None and kind not in types and not (kind is float and int in types and value.is_integer()):
            raise bad_value(prefix + key, value, _wanted(types))
        if kind is dict and key not in CLOSED:
            checked(value, f"{prefix}{key}.")


def _wanted(types: frozenset[type]) -> str:
    return " or ".join(dict.fromkeys(word for kind, word in WORDS.items() if kind in types and not (kind is int and float in types)))
