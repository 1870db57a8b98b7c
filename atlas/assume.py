"""Assumed architectures: a config of unknown model_type whose keys are all those of a standard decoder.

Its code is never run, so nothing proves that its layers are llama's. It is derived by llama's rules with verdict
`assumed`, every assumption is in the evidence, and statistics leave it out: an equal total proves its weights
and not its cache.
Whatever is not standard, or not understood, keeps it refused.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from atlas.derived import Derived
from atlas.families.loader import available, family, row
from atlas.families.rules import Family
from atlas.numbers.fingerprint import Evidence
from atlas.readers.ends import LANGUAGE_MODELS
from atlas.refusal import Refused, shown
from schemas.vocabulary import Origin, RefusalKind, Verdict

if TYPE_CHECKING:
    from atlas.parse import Raw
    from atlas.reading.config import Config

ASSUMED = "_assumed"
"""The row that assumed configs are read by."""
LIKE = "llama"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{0,63}")
NEEDED = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
GATED = ("silu", "swish")
OFF = ("is_encoder_decoder", "add_cross_attention", "is_decoder", "tie_encoder_decoder", "cross_attention_hidden_size")
"""Keys that a standard decoder states as false or null, if at all."""
NULL = ("sliding_window",)
"""Keys that say nothing where they are null; any other null key is a sign of a class that knows more."""
OTHER = frozenset(
    {
        "moe",
        "mla",
        "ssm",
        "mamba",
        "mamba2",
        "rwkv",
        "hybrid",
        "linear",
        "recurrent",
        "diffusion",
        "dlm",
        "encoder",
        "bidirectional",
        "bidirec",
        "bert",
        "embed",
        "embedding",
        "reranker",
        "reward",
        "eagle",
        "eagle3",
        "medusa",
        "mtp",
        "speculator",
        "assistant",
        "vl",
        "vlm",
        "vision",
        "visual",
        "image",
        "video",
        "audio",
        "speech",
        "tts",
        "asr",
        "omni",
        "multimodal",
        "bitnet",
        "loop",
        "looped",
    }
)
"""Words in a model_type or class name that promise something else than a standard decoder."""


def rules(data: Raw, model_type: str) -> Family:
    """The rules to assume for this config; raises `Refused` (unknown_family) with what is not standard in it."""
    why = _objection(data, model_type)
    if why is not None:
        raise refused(model_type, why)
    return _assumed(model_type)


@lru_cache(maxsize=256)
def _assumed(model_type: str) -> Family:
    """Llama's rules as those of another model_type, each thing unsaid with the assumption as its source."""
    base = _base()
    source = f"assumed, as in {LIKE}: no rules for model_type {shown(model_type)}"
    unstated = {k: Evidence(k, e.value, Origin.FAMILY_RULE.value, source) for k, e in base.unstated.items()}
    return msgspec.structs.replace(base, unstated=unstated, settled={k: unstated[k] for k in base.settled})


@cache
def _base() -> Family:
    return msgspec.structs.replace(family(ASSUMED), irrelevant=frozenset(row(ASSUMED)["irrelevant"]))


@cache
def beyond(model_type: str) -> str | None:
    """What a model_type of the library is that is no language model; None where it may be one."""
    return next((kind for kind, types in _row("_beyond").items() if model_type in types), None)


_row = cache(row)  # these two are asked at every refusal


def refused(model_type: str, why: str) -> Refused:
    """No rules, and none to assume."""
    other = beyond(model_type)
    if other is not None:
        reason = f"model_type {shown(model_type)} is {other}, no language model; headers alone can give its weights"
        return Refused(RefusalKind.UNKNOWN_FAMILY, reason)
    head = f"no rules for model_type {shown(model_type)}, and not assumed to be a standard decoder"
    return Refused(RefusalKind.UNKNOWN_FAMILY, f"{head}: {_row('_open').get(model_type, why)}")


def _objection(data: Raw, model_type: str) -> str | None:
    if not NAME.fullmatch(model_type):
        return "that is no name of a class"
    missing = [k for k in NEEDED if data.get(k) is None]
    if missing:
        return f"it states no {', '.join(missing)}"
    on = next((k for k in OFF if data.get(k) not in (None, False)), None)
    if on is not None:
        return f"{on} is {shown(data[on])}"
    act = data.get("hidden_act")
    if act is not None and act not in GATED:
        return f"hidden_act is {shown(act)}, and only {' or '.join(GATED)} is known to stand in a gated network"
    if "tie_word_embeddings" not in data and "transformers_version" in data:
        return "tie_word_embeddings is left out of a saved file, which says true or nothing, as its class has it"
    return _named_otherwise(data, model_type) or _packed(data)


def _named_otherwise(data: Raw, model_type: str) -> str | None:
    """What the names say: no language model, a family with other rules, or a word for something else."""
    cls = _first(data.get("architectures"))
    if not isinstance(cls, str) or (cls and not cls.endswith(LANGUAGE_MODELS)):
        return f"the class {shown(cls)} is not known to be a language model"
    stem = re.sub("|".join(f"{e}$" for e in LANGUAGE_MODELS), "", cls)
    if stem.lower() in _known_stems():
        return f"the class {shown(cls)} has rules of its own, and the model_type is not its"
    words = {w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", f"{model_type} {stem}")}
    words |= set(re.split(r"[^a-z0-9]+", model_type.lower()))
    other = sorted(words & OTHER)
    return f"its name speaks of {', '.join(other)}" if other else None


def _first(named: Any) -> Any:
    return named[0] if isinstance(named, list) and named else ""  # pyright: ignore[reportUnknownVariableType]


@cache
def _known_stems() -> frozenset[str]:
    return frozenset(re.sub(r"[^a-z0-9]", "", name.lower()) for name in available()) - {LIKE}


def _packed(data: Raw) -> str | None:
    quant: Any = data.get("quantization_config")
    if isinstance(quant, dict) and quant.get("quant_method") == "bitnet":  # pyright: ignore[reportUnknownMemberType]
        return "bitnet layers hold norms of their own"
    return None


def checked(c: Config, derived: Derived, model_type: str) -> Derived:
    """The derivation, its assumption on record; raises `Refused` where a key, even a null one, was not understood."""
    strange = sorted(k for k in c.raw.keys() - c.read - c.rules.irrelevant if k not in NULL or c.raw[k] is not None)
    if strange:
        raise refused(
            model_type, f"it states {', '.join(shown(k) for k in strange[:5])}, which {LIKE}'s rules do not read"
        )
    why = f"assumed: {shown(model_type)} states the keys of a standard decoder and no other"
    note = Evidence("family", LIKE, Origin.FAMILY_RULE.value, why)
    found = msgspec.structs.replace(derived.fingerprint, verdict=Verdict.ASSUMED.value, doubt=why)
    return msgspec.structs.replace(derived, fingerprint=found, evidence=(note, *derived.evidence))
