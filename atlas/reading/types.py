"""The type of every key: a text is no number, a list no object, "false" not false. One reader checks a whole config.

The vocabulary holds the keys of the library's config classes and the types that any of them declares; it was made from
their annotations (transformers 5.24, models/*/configuration_*.py). Null says "not set" under every key but those of
`NEVER_NULL`. A whole number may be written 4096.0, and a number without a point is a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import orjson

from atlas.parse import Raw
from atlas.reading.twofold import Held
from atlas.refusal import bad_value

Types = frozenset[object]

ALLOWED: Mapping[str, Types] = {
    "bool": frozenset((bool,)),
    "int": frozenset((int,)),
    "num": frozenset((int, float)),
    "str": frozenset((str,)),
    "list": frozenset((list,)),
    "obj": frozenset((dict,)),
}
ANY: Types = frozenset((bool, int, float, str, list, dict, type(None), Held))
"""What a key may hold that no class declares; what a reading says of a checkpoint is no file's."""
WORDS = {
    "bool": "true or false",
    "num": "a number",
    "int": "a whole number",
    "str": "a text",
    "list": "a list",
    "obj": "an object",
}
NEVER_NULL = frozenset(("tie_word_embeddings", "is_causal"))
"""Keys whose null the library refuses or takes for false, and that no rule could answer."""
CLOSED = frozenset((
    "quantization_config", "compression_config", "vision_config", "audio_config", "id2label", "label2id",
    "task_specific_params",
))  # fmt: skip
"""Objects whose keys speak of something else than a language model's shape."""


@cache
def _file() -> Mapping[str, Mapping[str, str]]:
    return orjson.loads(files("atlas.families").joinpath("_types.json").read_bytes())


@cache
def never_null(model_type: str) -> frozenset[str]:
    """Keys that the class of this model_type declares without null: there, null is no value and no "not set"."""
    return frozenset(key for key, names in _file()["not_null"].items() if model_type in names.split())


@cache
def vocabulary() -> Mapping[str, Types]:
    """The Python types that JSON may give each key."""
    found: dict[str, Types] = {}
    for kinds, keys in _file()["types"].items():
        types = Types().union(*(ALLOWED[k] for k in kinds.split()))
        for key in keys.split():
            found[key] = types if key in NEVER_NULL else types | {type(None)}
    return found


def null_checked(raw: Raw, model_type: str, prefix: str = "") -> None:
    """Raise `Refused` (bad_value) where a key is null that the class of this model_type never takes as such."""
    for key in never_null(model_type):
        if key in raw and raw[key] is None:
            raise bad_value(prefix + key, None, "stated, or left out")


def checked(raw: Raw, prefix: str = "") -> None:
    """Raise `Refused` (bad_value) at the first key whose value has another type than any class gives it."""
    types_of = vocabulary().get
    for key, value in raw.items():
        kind: object = value.__class__
        if kind not in types_of(key, ANY):
            types = types_of(key, ANY)
            if not _whole(types, value):
                raise bad_value(prefix + key, value, _wanted(types))
        elif kind is dict and key not in CLOSED:
            checked(value, prefix + key + ".")


def _whole(types: Types, value: object) -> bool:
    """A whole number written with a point."""
    return type(value) is float and int in types and value.is_integer()


def _wanted(types: Types) -> str:
    found = [k for k in WORDS if ALLOWED[k] <= types and not (k == "int" and float in types)]
    return " or ".join(WORDS[k] for k in found)
