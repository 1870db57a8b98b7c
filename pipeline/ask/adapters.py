"""An adapter's folder: what its config says it is, whose adapter it is, and its own weights by their headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from atlas.interpret import derive, refusal
from atlas.numbers.fingerprint import Evidence
from atlas.numbers.storage import Storage
from atlas.parse import load
from atlas.refusal import Refused
from atlas.stored.form import BITS
from pipeline.ask.found import Adapter, Found
from pipeline.errors import NotFound
from pipeline.sources import disk, headers
from schemas.vocabulary import ModelKind, Origin, RefusalKind, Verdict

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_LONGEST = 200
_MOST_TARGETS = 100
_MOST_RANK = 1 << 20


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter."""
    return (folder / CONFIG).is_file()


def of_folder(folder: Path) -> Found:
    """The adapter of a folder, named as one. Raises `NotFound` or `Invalid` for weights that cannot be read."""
    name, raw = disk.shown(folder.absolute()), disk.content(folder / CONFIG)
    if isinstance(raw, Refused):
        raise NotFound(f"{folder / CONFIG} cannot be read: {raw.reason}")
    derived = derive(raw, name=name)
    try:
        data = load(raw)
    except Refused:
        return Found(name=name, source=str(folder), path=str(folder), made=derived)
    file = folder / WEIGHTS
    listing = headers.local(file).listing if file.is_file() else None
    adapter = _adapter(data, listing)
    if derived.fingerprint.refusal_kind != RefusalKind.ADAPTER:  # its method is no text, or it states a model_type
        derived = refusal(Refused(RefusalKind.ADAPTER, f"{CONFIG} makes it an adapter, which has no cache"), name, None)
        row = msgspec.structs.replace(derived.fingerprint, kind=ModelKind.ADAPTER.value)
        derived = msgspec.structs.replace(derived, fingerprint=row)
    if adapter.params is not None:
        evidence = tuple(
            Evidence(field, value, Origin.HEADER.value, f"counted in the header of {WEIGHTS}")
            for field, value in (("params_checkpoint", adapter.params), ("weight_bytes_checkpoint", adapter.bytes))
        )
        row = msgspec.structs.replace(
            derived.fingerprint,
            verdict=Verdict.MEASURED.value,
            params_checkpoint=adapter.params,
            weight_bytes_checkpoint=adapter.bytes,
        )
        stored = Storage(bytes=adapter.bytes, evidence="header")
        derived = msgspec.structs.replace(derived, fingerprint=row, evidence=evidence, stored=stored)
    return Found(name=name, source=str(folder), path=str(folder), adapter=adapter, made=derived)


def _adapter(data: dict[str, Any], listing: dict[str, headers.Stored] | None) -> Adapter:
    base, rank, alpha, targets = (data.get(k) for k in ("base_model_name_or_path", "r", "lora_alpha", "target_modules"))
    named = [targets] if isinstance(targets, str) else targets if isinstance(targets, list) else []
    known = list(listing.values()) if listing is not None else []
    elements = [e.elements for e in known]
    sizes = [n * BITS[e.dtype] // 8 for n, e in zip(elements, known, strict=True) if n is not None and e.dtype in BITS]
    return Adapter(
        method=_text(data.get("peft_type")) or "not stated",
        base_model=_text(base),
        rank=rank if type(rank) is int and 0 < rank < _MOST_RANK else None,
        alpha=_number(alpha),
        targets=tuple(t for t in map(_text, named[:_MOST_TARGETS]) if t),
        params=sum(n for n in elements if n is not None) if known else None,
        bytes=sum(sizes) if known and len(sizes) == len(known) else None,
        tensors=len(known) or None,
    )


def _number(value: object) -> float | None:
    """A finite number of a size that a scale has."""
    if type(value) not in (int, float):
        return None
    return float(value) if abs(value) < 1e9 else None  # pyright: ignore[reportArgumentType]


def _text(value: object) -> str | None:
    return value[:_LONGEST] if isinstance(value, str) and value else None
