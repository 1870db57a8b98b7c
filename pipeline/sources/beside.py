"""What lies beside a config: settings of a quantization, headers or an index of its weights; and what they weigh.

A folder is read without a word about what is missing: what is not there is no evidence. A file that is damaged raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from atlas import proof
from atlas.derived import Derived
from atlas.interpret import reader
from atlas.numbers.fingerprint import Evidence
from atlas.parse import MAX_BYTES, load
from atlas.refusal import Refused
from atlas.stored import measured
from atlas.stored.answer import Files, storage
from atlas.stored.settings import FILES, Settings, settings_of
from atlas.stored.subject import Subject
from pipeline.errors import Invalid
from pipeline.sources import headers
from schemas.vocabulary import Origin, RefusalKind, Verdict


class Beside(NamedTuple):
    """Settings files by name, as objects, and what is known of the weight files."""

    settings: Mapping[str, Mapping[str, Any]]
    files: Files = Files()


def of_folder(folder: Path) -> Beside:
    """What lies in a checkpoint's folder. Raises `Invalid` for a damaged file, `NotFound` for lost shards."""
    return Beside(settings_in(folder), files_of(headers.local(folder)) if has_weights(folder) else Files())


def has_weights(folder: Path) -> bool:
    """Whether weight files that have headers lie in a folder, or an index of some."""
    names = {p.name for p in folder.iterdir() if p.is_file()}
    return bool(headers.weights(names)) or any(n in names for n in headers.INDEXES)


def settings_in(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The settings files of a folder, as objects. Raises `Invalid`."""
    return {name: settings(raw, name) for name, raw in written(folder)}


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The settings files of a folder as they are, no more than one byte beyond what is ever parsed."""
    for name in FILES:
        if (folder / name).is_file():
            with (folder / name).open("rb") as file:
                yield name, file.read(MAX_BYTES + 1)


def files_of(found: headers.Headers) -> Files:
    """What headers say: every tensor with its shape, or of an index alone the bytes it states."""
    known = bool(found.listing) and all(e.shape is not None for e in found.listing.values())
    if known:
        return Files(found.listing)
    return Files(None, found.total_bytes, frozenset(measured.group(n, e) for n, e in found.listing.items()))


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


LACKING = frozenset((
    RefusalKind.UNKNOWN_FAMILY, RefusalKind.UNKNOWN_CLASS, RefusalKind.NOT_DERIVABLE, RefusalKind.MISSING_KEY
))  # fmt: skip
"""Refusals that say nothing against a file: only that no rule is known for it."""


def _measured(derived: Derived, s: Settings | None, files: Files) -> Derived:
    """What headers alone give of a model that no rule is known for: exact weights, and nothing else."""
    row = derived.fingerprint
    if files.listing is None or row.refusal_kind not in LACKING:
        return derived
    found = storage(None, s, files)
    weights = measured.components(files.listing, s)
    row = msgspec.structs.replace(
        row,
        verdict=Verdict.MEASURED.value,
        quant_method=s.method if s else None,
        weight_bytes_checkpoint=found.bytes,
        params_checkpoint=measured.weights(files.listing, s),
        **({f"params_{k}": n for k, n in weights.items()} if weights else {}),
    )
    evidence = tuple(
        Evidence(name, value, Origin.HEADER.value, "counted in the headers of its files")
        for name, value in (("params_checkpoint", row.params_checkpoint), ("weight_bytes_checkpoint", found.bytes))
        if value is not None
    )
    return msgspec.structs.replace(derived, fingerprint=row, stored=found, evidence=evidence)


def _subject(derived: Derived, data: Mapping[str, Any]) -> Subject | None:
    row, model = derived.fingerprint, derived.model
    if model is None:
        return None
    towers = None if row.has_towers and row.params_towers is None else derived.towers
    return Subject(model, reader(dict(data)).rules, data, towers, row.params_mtp)


def weighed(derived: Derived, raw: bytes | Mapping[str, Any], beside: Beside) -> Derived:
    """A derivation with what lies beside its config taken into account: stored form, bytes, quantization."""
    if not beside.settings and beside.files == Files():
        return derived
    try:
        data = load(raw) if isinstance(raw, bytes) else dict(raw)
    except Refused:
        return derived
    s = settings_of(data, beside.settings)
    if derived.model is None:
        return _measured(derived, s, beside.files)
    derived = proof.decided(derived, *_totals(s, beside.files)) if derived.readings else derived
    found = storage(_subject(derived, data), s, beside.files)
    row = msgspec.structs.replace(
        derived.fingerprint,
        weight_bytes_checkpoint=found.bytes,
        quant_method=derived.fingerprint.quant_method or (s.method if s else None),
    )
    return msgspec.structs.replace(derived, fingerprint=row, stored=found)


def _totals(s: Settings | None, files: Files) -> Iterator[int]:
    """The weights of the files: counted in their headers, or by an index's bytes where a weight has two or four."""
    if files.listing is not None:
        counted = measured.weights(files.listing, s)
        if counted is not None:
            yield counted
    elif s is None and files.total_bytes is not None:
        yield from (files.total_bytes // width for width in (2, 4) if files.total_bytes % width == 0)


def is_whole(folder: Path, name: str) -> bool:
    """Whether one file holds all weights of a checkpoint's folder."""
    return headers.weights([p.name for p in folder.iterdir() if p.is_file()]) == [name]
