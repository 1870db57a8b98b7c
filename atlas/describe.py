"""The finished row of a config: the columns of its design, and what the config alone says."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.numbers.design import design_columns, design_features, storable
from atlas.numbers.fingerprint import Evidence, Fingerprint
from atlas.numbers.measure import component, growth_bytes_per_token, model_ledger
from atlas.numbers.structure import Model
from atlas.parse import Raw
from atlas.readers import drafting
from atlas.readers.towers import Towers, read_towers
from atlas.reading import twofold
from atlas.reading.answers import DERIVED
from atlas.reading.classes import said
from atlas.reading.config import Config
from atlas.reading.doubts import doubts, of_weights_alone, sentence
from atlas.reading.kind import kind_of
from atlas.reading.rotary import Rotary, read_rotary
from atlas.reading.values import mapping
from atlas.stored.answer import storage
from atlas.stored.settings import IN_CONFIG, settings_of
from atlas.stored.subject import Subject
from schemas.vocabulary import Check, Component, Origin, Verdict

DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one weight of a stated type; no proof of how weights are stored."""

SENSES = ("vision", "visual", "audio", "speech", "depth_decoder")
"""How the names of objects begin that describe an encoder, or a decoder of sound, beside the language model."""


def described(c: Config, model: Model, data: Raw, name: str | None, cls: str | None) -> Derived:
    """The finished row with its evidence; raises `Refused` where a total is beyond what can be stored."""
    bare, rotary = design_row(model), read_rotary(c)
    dtype, quant = _storage(c)
    drafts = component(model_ledger(model), Component.MTP) if drafting.known(c) else None
    has_towers = bool(c.rules.outer.get("has_towers")) or bool(c.opt("has_towers")) or _states_towers(c, data)
    towers = read_towers(c, data) if has_towers else Towers()
    if has_towers:
        how = towers.reason or towers.words or "the class builds none for a file that describes none"
        c.note("params_towers", towers.elements, Origin.DERIVED.value, how)
        has_towers = towers.elements != 0
    subject = Subject(model, c.rules, data, None if towers.reason else towers.towers, drafts)
    stored = storage(subject, settings_of(data))
    row = msgspec.structs.replace(
        bare,
        repo_id=name,
        model_type=said(data, c.rules),
        architecture_class=cls,
        kind=kind_of(c, model, has_cache=bare.kv_bytes_per_token is not None).value,
        d_model=c.count("hidden_size"),
        vocab_size=c.count("vocab_size"),
        tie_word_embeddings=bool(c.top("tie_word_embeddings")),
        dtype=dtype,
        quant_method=quant,
        state_dtype=_state_dtype(c),
        has_towers=has_towers,
        params_towers=towers.elements,
        params_buffers=_both(component(model_ledger(model), Component.BUFFERS), towers.buffers),
        n_mtp_layers=drafting.stated(c),
        params_mtp=drafts,
        params_checkpoint=_in_files(bare, drafts, towers),
        weight_bytes_checkpoint=stored.bytes,
        **_context(rotary, bare),
        growth_bytes_per_token=_growth(model, rotary.max_context),
    )
    storable((row.params_towers, row.params_buffers, row.params_checkpoint, row.weight_bytes_checkpoint))
    unread = c.unread()
    features = (*design_features(model), *_own_features(row))
    others = twofold.readings(c, data)
    found = Derived(row, model, c.evidence(), unread, features, towers.towers, stored, c, others)
    keys = doubts(c, unread)
    if keys:
        return doubted(found, sentence(c.rules.model_type, keys), by_total=of_weights_alone(c, keys))
    twice = twofold.doubt(c)
    return found if twice is None else doubted(found, twice, by_total=True)


def _states_towers(c: Config, data: Raw) -> bool:
    """Whether the file describes an encoder of its own: whether its class builds one is then a rule's to say.

    A row whose classes build none, whatever their config describes, has the fact `builds_towers` false.
    """
    return c.rules.facts.get("builds_towers") is not False and any(
        isinstance(value, dict) and value != {} and key.startswith(SENSES) and key.endswith("_config")
        for key, value in data.items()
    )


def doubted(found: Derived, why: str, *, by_total: bool) -> Derived:
    """The same with verdict `assumed` and the reason in a sentence; `by_total` where an equal total answers it."""
    note = Evidence("verdict", Verdict.ASSUMED.value, DERIVED, why)
    row = msgspec.structs.replace(found.fingerprint, verdict=Verdict.ASSUMED.value, doubt=why)
    return msgspec.structs.replace(found, fingerprint=row, evidence=(note, *found.evidence), proved_by_total=by_total)


@lru_cache(maxsize=16384)
def design_row(model: Model) -> Fingerprint:
    """A row with every column that follows from the structure, and none of a config's own."""
    return Fingerprint(verdict=Verdict.KNOWN.value, check=Check.UNCHECKED.value, **design_columns(model))


def _storage(c: Config) -> tuple[str | None, str | None]:
    """The stated dtype (torch_dtype in older files) and quantization method, as stated.

    The wrapper's word goes first.
    """
    dtype, quant = _first(c, ("dtype", "torch_dtype")), _first(c, IN_CONFIG)
    if quant is None:
        method = None
    else:
        raw = mapping("quantization_config", quant)
        stated = raw.get("quant_method")
        method = stated[:40] if isinstance(stated, str) else settings_of({IN_CONFIG[0]: raw}, None)
        method = method if isinstance(method, str) or method is None else method.method
    return dtype.removeprefix("torch.")[:40] if isinstance(dtype, str) else None, method


def _state_dtype(c: Config) -> str | None:
    """The type the config states for recurrent states: Qwen's key, or Nemotron-H's."""
    stated = _first(c, ("mamba_ssm_dtype", "mamba_ssm_cache_dtype"))
    return stated.removeprefix("torch.")[:40] if isinstance(stated, str) else None


def _first(c: Config, keys: tuple[str, ...]) -> Any:
    for raw in (c.outer,) if c.outer is c.raw else (c.outer, c.raw):
        for key in keys:
            value = raw.get(key)
            if value:
                return value
    return None


def _both(one: int, other: int | None) -> int | None:
    return None if other is None else one + other


def _in_files(bare: Fingerprint, drafts: int | None, towers: Towers) -> int | None:
    """Weights of the files as far as the config says what is in them; None where a part is not known."""
    parts = (bare.params_total, drafts, towers.elements, bare.params_buffers, towers.buffers)
    return None if None in parts else sum(n for n in parts if n is not None)


def _context(rotary: Rotary, bare: Fingerprint) -> dict[str, Any]:
    """RoPE's settings where anything is rotated, and the context in any case."""
    rotates = bare.position in ("rope", "mixed")
    return {
        "rope_theta": rotary.theta if rotates else None,
        "rope_scaling": rotary.scaling if rotates else None,
        "rope_factor": rotary.factor if rotates else None,
        "max_context": rotary.max_context,
        "native_context": rotary.native_context,
    }


@lru_cache(maxsize=16384)
def _growth(model: Model, max_context: int | None) -> float | None:
    """Growth at the stated context; None where nothing is kept between steps."""
    return growth_bytes_per_token(model, max_context) if model.has_cache else None


def _own_features(row: Fingerprint) -> tuple[str, ...]:
    """The words that a config adds to its design's."""
    named = {
        "tied_embeddings": row.tie_word_embeddings,
        "mtp": bool(row.n_mtp_layers),
        "towers": row.has_towers,
        "quantized": row.quant_method is not None,
        f"rope_{row.rope_scaling}": row.rope_scaling is not None,
    }
    return tuple(k for k, v in named.items() if v)
