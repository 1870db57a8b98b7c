"""What lies beside a config: settings of a quantization, headers or an index of its weights; and what they weigh.

A folder is read without a word about what is missing: what is not there is no evidence. A file that is damaged raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from atlas.interpret import Derived, reader
from atlas.parse import MAX_BYTES, load
from atlas.refusal import Refused
from atlas.stored.answer import Files, storage
from atlas.stored.settings import FILES, settings_of
from pipeline.errors import Invalid
from pipeline.sources import headers


class Beside(NamedTuple):
    """Settings files by name, as objects, and what is known of the weight files."""

    settings: Mapping[str, Mapping[str, Any]]
    files: Files = Files()


def of_folder(folder: Path) -> Beside:
    """What lies in a checkpoint's folder. Raises `Invalid` where a file of it is damaged, `NotFound` for lost shards."""
    names = {p.name for p in folder.iterdir() if p.is_file()}
    found = {name: settings((folder / name).read_bytes(), name) for name in FILES if name in names}
    has_weights = bool(headers.weights(names)) or any(n in names for n in headers.INDEXES)
    return Beside(found, files_of(headers.local(folder)) if has_weights else Files())


def files_of(found: headers.Headers) -> Files:
    """What headers say: every tensor with its shape, or of an index alone the bytes it states."""
    known = bool(found.listing) and all(e.shape is not None for e in found.listing.values())
    return Files(found.listing if known else None, None if known else found.total_bytes)


def settings(raw: bytes, name: str) -> Mapping[str, Any]:
    """A settings file as an object. Raises `Invalid`."""
    if len(raw) > MAX_BYTES:
        raise Invalid(f"{name} is larger than any settings file: more than {MAX_BYTES} bytes")
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"{name} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Invalid(f"{name} is no object of keys and values")
    return found  # pyright: ignore[reportUnknownVariableType]


def weighed(derived: Derived, raw: bytes | Mapping[str, Any], beside: Beside) -> Derived:
    """A derivation with what lies beside its config taken into account: stored form, bytes, quantization."""
    if not beside.settings and beside.files == Files():
        return derived
    try:
        data = load(raw) if isinstance(raw, bytes) else dict(raw)
    except Refused:
        return derived
    s = settings_of(data, beside.settings)
    family = reader(data).rules if derived.model is not None else None
    found = storage(derived.model, family, data, s, beside.files)
    row = msgspec.structs.replace(
        derived.fingerprint,
        weight_bytes_checkpoint=found.bytes,
        quant_method=derived.fingerprint.quant_method or (s.method if s else None),
    )
    return msgspec.structs.replace(derived, fingerprint=row, stored=found)
