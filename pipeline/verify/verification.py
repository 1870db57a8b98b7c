"""What `atlas verify` does: headers held against their own config, as a report, an object, and rows of `checks`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from atlas.checkpoint.header import Comparison, compare
from atlas.interpret import derive, reader
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.structure import Model
from atlas.parse import load
from pipeline.errors import NotFound
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

    @property
    def check(self) -> Check:
        """The verdict: exact only where every weight was found with its size, or every name and the bytes of all."""
        return Check.UNCHECKED if self.comparison is None else self.comparison.check


def verify(target: str, endpoint: str | None = None) -> Verified:
    """Verify a path, or a repository where there is no such path. Raises `NotFound`, `Invalid` or `Upstream`."""
    path = Path(target)
    if target and path.exists():
        return _on_disk(path)
    if target.startswith((".", "/", "~")):
        raise NotFound(
            f"{target} does not exist: give a checkpoint folder, a .safetensors file, or a repository as owner/name"
        )
    from pipeline.hub.remote import checkpoint

    found = checkpoint(target, endpoint)
    return verified(found.repo_id, found.config, found.headers, found.revision)


def _on_disk(path: Path) -> Verified:
    try:
        folder = path if path.is_dir() else path.parent
        if not (folder / "config.json").is_file():
            raise NotFound(f"{folder} has no config.json, so there is nothing to derive the weights from")
        return verified(folder.resolve().name, read(folder), local(path))
    except OSError as error:
        raise NotFound(f"{error.filename} cannot be read: {error.strerror}") from error


def verified(name: str, config: bytes, headers: Headers, revision: str | None = None) -> Verified:
    """Hold headers against the config they came with."""
    derived = derive(config, name=name)
    if derived.model is None:
        return Verified(name, revision, derived.fingerprint, "headers", headers.files)
    data = load(config)
    held = compare(
        derived.model,
        reader(data).rules,
        headers.listing,
        quantization=quantization(data),
        n_mtp=derived.fingerprint.n_mtp_layers,
        towers=derived.towers,
    )
    basis, note = "headers" if held.shapes_known else "names", RENAMED if _only_names(held) else None
    known = Verified(name, revision, derived.fingerprint, basis, headers.files, held, note)
    return known if held.shapes_known else _by_bytes(known, derived.model, headers)


RENAMED = (
    "only names differ: what is missing and what is extra have equally many weights; the family has no names for these"
)


def _only_names(held: Comparison) -> bool:
    return held.check is Check.UNCHECKED and bool(held.differences)


def quantization(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The config's quantization settings, wherever it keeps them."""
    text = data.get("text_config")
    for raw in (data, text if isinstance(text, dict) else {}):
        for key in ("quantization_config", "compression_config", "quantization"):
            if isinstance(found := raw.get(key), dict):
                return found
    return None


def _by_bytes(found: Verified, model: Model, headers: Headers) -> Verified:
    """Of an index, names and the bytes of all tensors can be compared.

    Both agreeing is exact where nothing else is stored.
    """
    held, total = found.comparison, headers.total_bytes
    if held is None or held.check is Check.OFF or total is None:
        return found
    beside = _rotary(model, headers) if set(held.apart) == {"buffers"} else 0 if not held.apart else None
    if beside is None:
        return found
    for width in (2, 4, 1, 8):
        if total - width * held.derived in {beside * 2, beside * 4}:
            note = f"names agree, and {total:,} bytes are {held.derived:,} weights of {width} bytes"
            note += f" and {beside:,} rotary frequencies" if beside else ""
            return msgspec.structs.replace(
                found, basis="index", note=note, comparison=msgspec.structs.replace(held, check=Check.EXACT)
            )
    note = f"names agree, but {total:,} bytes are no whole number of bytes for each of {held.derived:,} weights"
    return msgspec.structs.replace(
        found, basis="index", note=note, comparison=msgspec.structs.replace(held, check=Check.OFF)
    )


def _rotary(model: Model, headers: Headers) -> int | None:
    """Elements of the rotary frequencies that old checkpoints keep, half the rotated width each; None for others."""
    from atlas.numbers.shape import shape_of

    widths = {m.rotary_dim for m, _ in shape_of(model).mixers if m.rotary_dim is not None}
    kept = [n for n in headers.listing if n.endswith("inv_freq")]
    others = [n for n in headers.listing if n.endswith((".attn.bias", "masked_bias", "position_ids", "cos_cached"))]
    return len(kept) * widths.pop() // 2 if len(widths) == 1 and not others else None


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
