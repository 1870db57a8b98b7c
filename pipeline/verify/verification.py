"""What `atlas verify` does: headers held against their own config, as a report, an object, and rows of `checks`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from atlas.checkpoint.header import Comparison, compare
from atlas.interpret import derive, reader
from atlas.numbers.fingerprint import Evidence, Fingerprint
from atlas.numbers.storage import Storage, StoredRow
from atlas.parse import load
from atlas.stored.answer import INDEX
from atlas.stored.held import by_dtype
from atlas.stored.settings import settings_of
from pipeline.errors import NotFound
from pipeline.sources.beside import Beside, files_of, settings_in, weighed
from pipeline.sources.disk import read
from pipeline.sources.headers import Headers, local
from schemas.vocabulary import Check

Row = dict[str, Any]


class Verified(msgspec.Struct, frozen=True):
    """One checkpoint verified. `comparison` is null where the config was refused; `basis` says what was compared."""

    name: str
    revision: str | None
    fingerprint: Fingerprint
    basis: str  # headers | index (names and bytes) | names
    files: tuple[str, ...]
    comparison: Comparison | None = None
    note: str | None = None
    stored: Storage = Storage()
    evidence: tuple[Evidence, ...] = ()

    @property
    def check(self) -> Check:
        """The verdict: exact only where every weight was found with its size, or every name and the bytes of all."""
        return Check.UNCHECKED if self.comparison is None else self.comparison.check


def verify(target: str | Path, endpoint: str | None = None, revision: str | None = None) -> Verified:
    """Verify a path, or a repository where there is no such path. Raises `NotFound`, `Invalid` or `Upstream`."""
    path = Path(target)
    if str(target) and path.exists():
        return on_disk(path)
    if str(target).startswith((".", "/", "~")):
        raise NotFound(f"{target} does not exist: give a checkpoint folder, a .safetensors file, or owner/name")
    return on_hub(str(target), revision, endpoint)


def on_hub(repo_id: str, revision: str | None = None, endpoint: str | None = None) -> Verified:
    """Verify a repository of the Hub. Raises `NotFound`, `Invalid` or `Upstream`."""
    from pipeline.hub.remote import checkpoint

    found = checkpoint(repo_id, endpoint, revision or "main")
    return verified(found.repo_id, found.config, found.headers, found.revision, found.settings)


def on_disk(path: Path) -> Verified:
    """Verify a checkpoint folder, a file of weights or an index beside its config. Raises `NotFound` or `Invalid`."""
    try:
        folder = path if path.is_dir() else path.parent
        if not (folder / "config.json").is_file():
            raise NotFound(f"{folder} has no config.json, so there is nothing to derive the weights from")
        return verified(folder.resolve().name, read(folder), local(path), settings=settings_in(folder))
    except OSError as error:
        raise NotFound(f"{error.filename} cannot be read: {error.strerror}") from error


def verified(
    name: str,
    config: bytes,
    headers: Headers,
    revision: str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> Verified:
    """Hold headers against the config they came with, and the settings files that lie beside it."""
    derived = weighed(derive(config, name=name), config, Beside(settings or {}, files_of(headers)))
    basis = "headers" if files_of(headers).listing is not None else "names"
    known = Verified(
        name, revision, derived.fingerprint, basis, headers.files, stored=derived.stored, evidence=derived.evidence
    )
    if derived.model is None:
        return known
    data = load(config)
    found = settings_of(data, settings)
    held = compare(
        derived.model,
        reader(data).rules,
        headers.listing,
        quantization=found.raw if found else None,
        n_mtp=derived.fingerprint.n_mtp_layers,
        towers=derived.towers,
    )
    note = RENAMED if _only_names(held) else UNREAD if held.check is Check.UNCHECKED and held.unknown else None
    made = msgspec.structs.replace(known, comparison=held, note=note)
    return _by_settings(made, held) if held.shapes_known else _by_bytes(made, headers.total_bytes)


def _by_settings(found: Verified, held: Comparison) -> Verified:
    """An exact checkpoint whose packed weights have other types or sizes than its settings say is off.

    Drafts and towers may be packed or not as their tool liked, so beside them this is not decided.
    """
    stored = found.stored
    if held.check is not Check.EXACT or not stored.against or {"mtp", "towers"} & held.apart.keys():
        return found
    if _packed(stored.rows) == _packed(stored.against):
        return found
    off = msgspec.structs.replace(held, check=Check.OFF)
    return msgspec.structs.replace(found, comparison=off, note=stored.note)


def _packed(rows: Iterable[StoredRow]) -> dict[str, int]:
    """Elements by type of what holds quantized weights, scales aside."""
    return by_dtype(r for r in rows if r.group != "scales" and r.scheme != "unquantized")


RENAMED = (
    "only names differ: what is missing and what is extra have equally many weights; the family has no names for these"
)
UNREAD = "some modules are packed in a way that is not known here: they speak neither for nor against the derivation"


def _only_names(held: Comparison) -> bool:
    return held.check is Check.UNCHECKED and bool(held.differences) and not held.unknown


def _by_bytes(found: Verified, total: int | None) -> Verified:
    """Of an index, names and the bytes of all tensors can be compared.

    Both agreeing is exact: names with what is derived, bytes with the rule of how they are stored.
    """
    held, stored = found.comparison, found.stored
    if held is None or held.check is Check.OFF or held.differences or total is None:
        return found
    if stored.evidence == INDEX:
        note, check = f"names agree, and {total:,} bytes are what the rule gives", Check.EXACT
    else:
        check = Check.OFF if stored.rows else Check.UNCHECKED
        note = f"names agree; {stored.reason}"
    return msgspec.structs.replace(
        found, basis="index", note=note, comparison=msgspec.structs.replace(held, check=check)
    )


def check_row(found: Verified) -> Row:
    """The row of `checks` that a verification gives."""
    held = found.comparison
    words = _differences(held) if held else found.fingerprint.refusal_reason
    return {
        "repo_id": found.name,
        "kind": "headers" if found.basis == "headers" else "index",
        "expected": held and held.found,
        "derived": held and held.derived,
        "result": found.check.value,
        "note": words or found.note,
        "source": "its own headers" if found.basis == "headers" else "its weight index",
    }


def _differences(held: Comparison) -> str | None:
    """The differences, counted and the first named."""
    if not held.differences:
        return None
    kinds = [d.kind for d in held.differences]
    counts = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
    first = held.differences[0]
    return f"{counts}; first: {first.kind} {first.name}"


def as_object(found: Verified) -> dict[str, Any]:
    """The verification for programs."""
    held = found.comparison
    made: dict[str, Any] = {
        "name": found.name,
        "revision": found.revision,
        "check": found.check.value,
        "basis": found.basis,
        "files": len(found.files),
        "verdict": found.fingerprint.verdict,
        "params_total": found.fingerprint.params_total,
        "note": found.note,
        "weight_bytes_checkpoint": found.stored.bytes,
        "stored": msgspec.to_builtins(found.stored.rows),
        "stored_evidence": found.stored.evidence,
        "stored_reason": found.stored.reason or found.stored.note,
    }
    if held is None:
        return made | {
            "refusal_kind": found.fingerprint.refusal_kind,
            "refusal_reason": found.fingerprint.refusal_reason,
        }
    return made | {
        "derived": held.derived,
        "found": held.found if held.shapes_known else None,
        "components": {k: msgspec.to_builtins(v) for k, v in held.components.items()},
        "differences": [d._asdict() for d in held.differences],
        "apart": held.apart,
        "packings": held.packings,
    }
