"""Where a quantization's settings stand: in the config, inside its language model's, or in a file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec

Raw = Mapping[str, Any]

IN_CONFIG = ("quantization_config", "compression_config", "quantization")
FILES = ("hf_quant_config.json", "quantize_config.json", "quant_config.json")
"""Files beside config.json that hold settings: ModelOpt's, AutoGPTQ's, AutoAWQ's."""
INNER = ("text_config", "llm_config", "language_config", "thinker_config")
_DECIDING = ("bits", "w_bit", "group_size", "q_group_size", "quant_algo", "desc_act", "sym", "zero_point", "lm_head")
"""What two places that state it must agree in."""
_TOGETHER = (
    ("modelopt-fp4", "modelopt"),
    ("fp8", "modelopt"),
    ("compressed-tensors", "modelopt"),
    ("auto-round", "gptq"),
)
"""Methods of a config and of a file beside it that one tool writes, or that say different things of one checkpoint."""
_MOST = 40


class Settings(NamedTuple):
    """A quantization's settings: its method, its object, where it stands, and what stands in the file beside it."""

    method: str
    raw: Raw
    source: str
    beside: Raw = MappingProxyType({})
    dispute: str | None = None  # why they say nothing: two places contradict each other

    def get(self, key: str) -> Any:
        """A setting: the config's word first, then the file's."""
        value = self.raw.get(key)
        return self.beside.get(key) if value is None else value

    def digest(self) -> bytes:
        """What tells these settings from all others."""
        return blake2b(msgspec.json.encode(tuple(self), order="sorted", enc_hook=dict), digest_size=16).digest()


class Read:
    """Settings that compare by their digest, so that what follows from them can be kept."""

    __slots__ = ("__weakref__", "digest", "settings")

    def __init__(self, settings: Settings, digest: bytes) -> None:
        self.settings = settings
        self.digest = digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Read) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


_read: WeakValueDictionary[bytes, Read] = WeakValueDictionary()


def shared(s: Settings) -> Read:
    """The settings with their digest; equal ones are one object, of which what is kept of many files holds one."""
    digest = s.digest()
    return _read.setdefault(digest, Read(s, digest))


def settings_of(config: Raw, files: Mapping[str, Raw] | None = None) -> Settings | None:
    """The settings of a checkpoint; None where neither its config nor a file beside it has any."""
    beside = _beside(files or {})
    found = _stated(config)
    if found is None:
        return None if beside is None else Settings(_method(beside[1], beside[0]), beside[1], beside[0])
    key, raw = found
    method = _method(raw, key)
    dispute = _disputed(config, method, raw, beside)
    return Settings(method, raw, key, {} if beside is None else beside[1], dispute)


def _disputed(config: Raw, method: str, raw: Raw, beside: tuple[str, Raw] | None) -> str | None:
    """Why settings contradict each other: two objects of the config, or the file beside it; None where none do."""
    stated = [(k, found) for k in IN_CONFIG if (found := _object(config.get(k)))]
    for (one, first), (other, second) in pairwise(stated):
        if first != second:
            return f"{one} and {other} of the config differ, and nothing says which holds"
    if beside is None:
        return None
    file, held = beside
    theirs = _method(held, file)
    if theirs != method and (method, theirs) not in _TOGETHER:
        return f"the config names {method}, and {file} is of {theirs}: nothing says which holds"
    told = next((k for k in _DECIDING if raw.get(k) is not None and held.get(k) not in (None, raw[k])), None)
    return (
        None if told is None else f"{told} is {str(raw[told])[:40]} in the config and {str(held[told])[:40]} in {file}"
    )


def _stated(config: Raw) -> tuple[str, Raw] | None:
    """The config's own object with its key, the outermost first."""
    for prefix, holder in (("", config), *((f"{k}.", config.get(k)) for k in INNER)):
        for key in IN_CONFIG:
            found = _object(_object(holder).get(key))
            if found:
                return prefix + key, found
    return None


def _object(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _beside(files: Mapping[str, Raw]) -> tuple[str, Raw] | None:
    """The settings of the first file there is; ModelOpt keeps them one level down."""
    for name in FILES:
        held = _object(files.get(name))
        found = _object(held.get("quantization")) or held
        if found:
            return name, found
    return None


def _method(raw: Raw, source: str) -> str:
    """The method: the word of the object, or what only one tool writes."""
    stated = raw.get("quant_method") or raw.get("method")
    if isinstance(stated, str):
        return stated.replace("_", "-")[:_MOST]
    producer = _object(raw.get("producer")).get("name")
    if producer == "modelopt" or source == FILES[0] or "quant_algo" in raw:
        return "modelopt"
    if source == FILES[1]:
        return "gptq"
    if source == FILES[2]:
        return "awq"
    return _unnamed(raw, source)


def _unnamed(raw: Raw, source: str) -> str:
    """MLX writes bits and group size under `quantization`, and again under `quantization_config`, without a name."""
    if raw.get("load_in_8bit") is True or raw.get("load_in_4bit") is True:
        return "bitsandbytes"  # as transformers takes files from before the method had a name
    if "bits" in raw and "group_size" in raw and source.rpartition(".")[2] != "compression_config":
        return "mlx"
    return "compressed-tensors" if "config_groups" in raw else "unnamed"
