"""Which rules read a config, and where in the file its language model stands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec

from atlas import assume
from atlas.families import overlays
from atlas.families.loader import BESIDE, family, known, owners, with_defaults
from atlas.families.rules import Family
from atlas.parse import Raw
from atlas.reading import classes, correct, per_layer, switches, types
from atlas.reading.answers import DERIVED
from atlas.reading.classes import model_type_of
from atlas.reading.config import Config
from atlas.reading.encoder import Prefixed, nested
from atlas.reading.levels import TIE
from atlas.refusal import Refused, bad_value, contradiction, not_derivable, shown
from schemas.vocabulary import RefusalKind

NESTED = (
    "text_config",
    "language_config",
    "llm_config",
    "thinker_config.text_config",
    "thinker_config",
    "decoder_config",
    "language_model_config",
    "llm",
)
"""Where published files keep the config of a language model inside another."""
SHAPE = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
"""Keys that describe a language model's shape under their usual names."""
OF_A_LAYER = (*SHAPE, "intermediate_size", "num_key_value_heads")
"""Those, and what else a layer of a draft is built from."""


def reader(data: Raw) -> Config:
    """The reader of a config's language model: the config itself, or the one a wrapper holds."""
    rules, why = chosen(data)
    c = _held_reader(data, rules) if rules.text is not None else plain(data, rules)
    if why is not None:
        c.note("family", rules.model_type, DERIVED, why)
    return c


def chosen(data: Raw) -> tuple[Family, str | None]:
    """The rules for a config, and how they were found where model_type has none; raises `Refused`."""
    stated = _model_type(data)
    cls = classes.named(data)
    home = overlays.of_draft(cls)
    if home is not None and stated != home and _says_its_shape(data, stated):
        return family(home), f"the class {shown(cls)} is a draft of {home}'s layers, whatever model_type it states"
    if stated is not None and known(stated):
        other = family(stated).siblings.get(cls or "")
        if other is None:
            return family(stated), None
        return family(other), f"the class {shown(cls)} is another design under the same model_type"
    own_code = stated is not None and bool(classes.remote(data))  # a model_type of its own, and code of its own
    found = owners(cls) if cls is not None and not own_code else ()
    if len(found) == 1:
        how = "no model_type is stated" if stated is None else f"model_type {shown(stated)} has no rules"
        return family(found[0]), f"{how}: the class {shown(cls)} belongs to {found[0]} alone"
    return assume.rules(data, model_type_of(data)), None


def _says_its_shape(data: Raw, stated: str | None) -> bool:
    """Whether no number of a layer is left to the class default of a model_type.

    Where no class has a number for the width of a head, all divide the hidden size by the heads.
    """
    divided = stated is None or not known(stated) or family(stated).defaults.get("head_dim") is None
    return all(type(data.get(k)) is int for k in OF_A_LAYER) and (divided or type(data.get("head_dim")) is int)


def plain(data: Raw, rules: Family) -> Config:
    """The reader of a config that is no wrapper's; raises `Refused` where its shape stands in a sub-object alone."""
    rules = overlays.applied(rules, data, classes.named(data))
    if rules.model_type != assume.ASSUMED and rules.facts.get("encoder_key") is None:
        _not_inside(data, rules)
    return set_right(data, rules)


def _not_inside(data: Raw, rules: Family, prefix: str = "") -> None:
    """A file whose shape, or a part of it, stands in a sub-object alone is no model of class defaults."""
    objects = [(key, value) for key, value in data.items() if value.__class__ is dict and key not in APART]
    if not objects:
        return
    spelled = _spelled(rules)
    open_ = [field for field, keys in spelled.items() if all(data.get(k) is None for k in keys)]
    if not open_:
        return
    told = frozenset(key for field in open_ for key in spelled[field])
    for key, inner in objects:
        where = _states(key, inner, told, 1 if key in NESTED else 2)
        if where is not None:
            top = prefix.rstrip(".") or "the top of the file"
            said = f"model_type {rules.model_type} states its shape at {top}"
            raise contradiction(f"{said}, but here {where[1]} stands in {prefix}{where[0]} alone")


APART = frozenset((
    "vision_config", "audio_config", "quantization_config", "compression_config", "rope_scaling", "rope_parameters",
    "id2label", "label2id", "task_specific_params", "auto_map", "dflash_config", "eagle_config", "visual",
))  # fmt: skip
"""Objects of a plain model's config that speak of something else than its shape."""


@lru_cache(maxsize=512)
def _spelled(rules: Family) -> Mapping[str, tuple[str, ...]]:
    """The keys that each number of a shape may stand under."""
    return {field: (*rules.keys.get(field, ()), field) for field in SHAPE}


def _states(path: str, held: Raw, told: frozenset[str], least: int) -> tuple[str, str] | None:
    """The object, this or one inside, that states so many of these keys, and one of them."""
    found = [k for k in held if k in told and type(held[k]) is int]
    if len(found) >= least:
        return path, found[0]
    for key, value in held.items():
        if value.__class__ is dict and key not in APART:
            where = _states(f"{path}.{key}", value, told, least)
            if where is not None:
                return where
    return None


def _held_reader(data: Raw, rules: Family) -> Config:
    """The reader of the language model that a wrapper holds, wherever published files nest it."""
    assert rules.text is not None  # noqa: S101 - only wrappers come here
    switches.of_wrapper(data, rules)
    key = rules.text.key
    outer, inner = _held(data, key)
    if inner is None or _shapeless(inner):
        key, outer, inner = _elsewhere(data, key, inner)
    if inner is None and (rules.text.flat or all(data.get(k) is not None for k in SHAPE)):
        return set_right(data, _with_outer(family(rules.text.family), rules, key, flat=True))
    if inner is not None and not isinstance(inner, dict):
        raise bad_value(key, inner, "an object")
    if inner is None:
        looked = ", ".join(dict.fromkeys((rules.text.key, *NESTED)))
        raise Refused(
            RefusalKind.MISSING_KEY,
            f"{rules.text.key} is needed: the language model's own config stands under none of {looked}",
        )
    held = cast("Raw", inner)
    if _shapeless(held) and all(data.get(k) is not None for k in SHAPE[:2]):
        raise contradiction(f"{key} states no shape, and the top of the file states one: the class reads {key} alone")
    inside = _inner_rules(held, rules)
    _not_inside(held, inside, key + ".")
    if classes.remote(data) or classes.remote(held):
        _inner_class(held, inside, rules)
    return set_right(held, _with_outer(inside, rules, key), outer, key + ".")


def _inner_class(held: Raw, inside: Family, rules: Family) -> None:
    """Raise `Refused` where a language model inside a wrapper names a class that no rules describe.

    The library builds it by its model_type and asks for no class (SmolVLM's files name one that it does not have); code
    that came with a file may go by the class.
    """
    cls = classes.named(held) if "architectures" in held else None
    if cls is not None and cls not in inside.class_names and cls not in rules.class_names and not owners(cls):
        raise Refused(
            RefusalKind.UNKNOWN_CLASS,
            f"{rules.text.key if rules.text else 'the language model'} names the class {shown(cls)}, which is none of "
            f"those that the rules of {inside.model_type} describe",
        )


def _shapeless(inner: Any) -> bool:
    """Whether an object states nothing of a shape under the usual names."""
    return inner.__class__ is dict and not any(inner.get(k) is not None for k in SHAPE)


def _elsewhere(data: Raw, usual: str, stated: Any) -> tuple[str, Raw, Any]:
    """Where else a published layout nests the language model: an object that states a shape; else as it is stated."""
    for key in NESTED:
        outer, inner = _held(data, key)
        if isinstance(inner, dict) and inner.get("num_hidden_layers") is not None:  # pyright: ignore[reportUnknownMemberType]
            return key, outer, cast("Raw", inner)
    return usual, data if stated is None else _held(data, usual)[0], stated


def set_right(raw: Raw, rules: Family, outer: Raw | None = None, prefix: str = "") -> Config:
    """The reader of an object by these rules, with the row's corrections of known wrong files applied."""
    if not rules.correct:
        return Config(raw, rules, outer, prefix)
    right, said = correct.corrected(raw, rules.correct)
    c = Config(right, rules, outer, prefix)
    c.said = said
    return c


def _held(data: Raw, key: str) -> tuple[Raw, Any]:
    """What stands under a dotted key, and what stands beside it: the keys of every level above, the outermost first.

    Whether the head is tied is the nearest level's word alone: the class that holds the head is built from that level
    (transformers 5.24, modeling_qwen2_5_omni.py and modeling_qwen3_omni_moe.py: the thinker's).
    """
    outer, found = data, data
    *steps, last = key.split(".")
    for step in steps:
        held: Any = found.get(step)
        if not isinstance(held, dict):
            return outer, None
        found = cast("Raw", held)
        outer = {**found, **{k: v for k, v in outer.items() if k != TIE}}
    return outer, found.get(last)


def _inner_rules(inner: Raw, rules: Family) -> Family:
    assert rules.text is not None  # noqa: S101 - only wrappers come here
    stated = inner.get("model_type")
    if rules.text.only and stated is not None and stated not in rules.text.only:
        raise not_derivable(f"{rules.model_type} over {shown(stated)}: what joins the two is not described")
    if stated is None or stated in rules.text.unnamed:
        return family(rules.text.family)
    if stated in (rules.model_type + "_text", rules.model_type):
        return family(stated if known(str(stated)) and str(stated).endswith("_text") else rules.text.family)
    return family(model_type_of(inner))


@lru_cache(maxsize=1024)
def _with_outer(inner: Family, wrapper: Family, key: str, *, flat: bool = False) -> Family:
    assert wrapper.text is not None  # noqa: S101 - only wrappers come here
    inner = with_defaults(inner, wrapper.text_defaults) if wrapper.text_defaults else inner
    return msgspec.structs.replace(
        inner,
        outer=wrapper.outer,
        classes={**inner.classes, **wrapper.classes},
        class_names=wrapper.class_names | inner.class_names if flat else wrapper.class_names,
        irrelevant=inner.irrelevant | wrapper.irrelevant if wrapper.text.flat else inner.irrelevant | wrapper.inside,
        beside=BESIDE.union(wrapper.irrelevant, key.split("."), ("tie_word_embeddings",)),
        lifts=wrapper.text.lifts,
    )


def source(c: Config) -> Config | None:
    """The reader of the encoder that a wrapper holds beside its decoder, by the rules of the encoder's own family.

    None where the wrapper has none (`outer.source` of its row); raises `Refused` where those rules do not fit.
    """
    said: Mapping[str, Any] | None = c.rules.outer.get("source")
    if said is None:
        return None
    raw, key, classes_of = nested(c, said["key"]), said["key"], said["classes"]
    stated = raw.get("model_type")
    if stated not in classes_of:
        raise not_derivable(f"an encoder {shown(stated)} in {key}: what joins the two is not described")
    given = {**raw, "architectures": [classes_of[stated]]}
    inner = set_right(given, family(stated), None, key + ".")
    proven(inner, given)
    inner.noted = Prefixed(c.noted)
    return inner


OF_LAYERS = ("block_configs", "per_layer_config")
"""Keys that give single layers other numbers (NAS exports; transformers 5.24, integrations/heterogeneity)."""


def _model_type(data: Raw) -> str | None:
    stated = data.get("model_type")
    return None if stated is None else model_type_of(data)


def proven(c: Config, data: Raw) -> None:
    """Raise `Refused` where a value has no type, the class is not the family's, or a list is as long as no stack."""
    types.checked(data)
    types.null_checked(c.raw, c.rules.model_type, c.prefix)
    if c.rules.model_type != assume.ASSUMED:
        classes.checked(data, c.rules)
    if data.get("pruned_heads"):
        raise contradiction("pruned_heads is not empty: the stored projections are narrower than the heads stated")
    told = next((k for k in OF_LAYERS if c.raw.get(k) and k not in c.rules.named and k not in c.rules.irrelevant), None)
    if told is not None:
        raise not_derivable(
            f"{told} gives layers numbers of their own, and the rules of {c.rules.model_type} read none"
        )
    per_layer.checked(c)
    switches.settled(c)
