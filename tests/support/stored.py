"""Checkpoints written by the quantization libraries themselves, with their headers (the shared folder's `stored`)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from places import SHARED

from atlas.numbers.storage import StoredRow
from atlas.stored.held import by_dtype

CASES = SHARED / "stored" / "cases"
ABSENT = f"{CASES} is not there: cases are held where the shared folder is"


def cases() -> list[Path]:
    """The folders of all cases, none where the shared folder is absent."""
    return sorted(p for p in CASES.iterdir() if p.is_dir()) if CASES.is_dir() else []


def header(case: Path) -> dict[str, Any]:
    """Totals and tensors of a case, as its library wrote them."""
    return json.loads((case / "header.json").read_text("utf-8"))


def agrees(rows: tuple[StoredRow, ...], info: Mapping[str, Any]) -> bool:
    """Whether rows have the bytes, the elements of every type and the tensors of a file."""
    total = sum(r.bytes or 0 for r in rows)
    counted = sum(r.tensors for r in rows)
    return (total, by_dtype(rows), counted) == (info["total_bytes"], info["elements_by_dtype"], info["tensors"])


def tensors(case: Path) -> dict[str, tuple[str, list[int], int]]:
    """Type, shape and bytes of every tensor of a case."""
    return {n: (t["dtype"], t["shape"], t["bytes"]) for n, t in header(case)["tensors"].items()}


def write(folder: Path, found: Mapping[str, tuple[str, list[int], int]]) -> None:
    """A safetensors file of these tensors, its data a hole."""
    end, entries = 0, dict[str, Any]()
    for name, (dtype, shape, size) in found.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(entries).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        file.truncate(8 + len(raw) + end)


def copied(case: Path, folder: Path) -> None:
    """A case as a checkpoint's folder: its config, its settings files, its weights' header."""
    for name in ("config.json", "hf_quant_config.json", "quantize_config.json", "quant_config.json"):
        if (case / name).is_file():
            (folder / name).write_bytes((case / name).read_bytes())
    write(folder, tensors(case))


def changed(config: bytes, **keys: Any) -> bytes:
    """A config with other values of some keys."""
    return msgspec.json.encode({**msgspec.json.decode(config), **keys})
