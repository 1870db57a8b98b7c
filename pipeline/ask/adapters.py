"""An adapter's folder: what its config says it is, whose adapter it is, and its own weights by their headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from atlas.interpret import derive
from atlas.numbers.fingerprint import Evidence
from atlas.numbers.storage import Storage
from atlas.parse import load
from atlas.refusal import Refused
from atlas.stored.form import BITS
from pipeline.ask.found import Adapter, Found
from pipeline.errors import NotFound
from pipeline.sources import disk, headers
from schemas.vocabulary import Origin, Verdict

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_LONGEST = 200
_MOST_TARGETS = 100


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
        rank=rank if type(rank) is int else None,
        alpha=float(alpha) if isinstance(alpha, int | float) and not isinstance(alpha, bool) else None,
        targets=tuple(t for t in map(_text, named[:_MOST_TARGETS]) if t),
        params=sum(n for n in elements if n is not None) if known else None,
        bytes=sum(sizes) if known and len(sizes) == len(known) else None,
        tensors=len(known) or None,
    )


def _text(value: object) -> str | None:
    return value[:_LONGEST] if isinstance(value, str) and value else None
