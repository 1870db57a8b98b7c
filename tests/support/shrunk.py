"""Shrunk checkpoints of many families.

Real names and shapes (see fixtures/make_checkpoints.py), written as real files of zeros.
"""

from __future__ import annotations

import ctypes
import json
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from places import FIXTURES
from safetensors import TensorSpec, serialize_file

from atlas.checkpoint.header import Comparison, compare
from atlas.checkpoint.packing import Stored
from atlas.interpret import derive, reader
from pipeline.sources.headers import BITS

KIND = {
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "I64": "int64",
    "I8": "int8",
    "U8": "uint8",
    "U32": "uint32",
    "F8_E4M3": "float8_e4m3fn",
}
Tensors = dict[str, tuple[str, tuple[int, ...]]]


class Shrunk(NamedTuple):
    """A config as transformers saved it, and the tensors beside it."""

    model_type: str
    config: dict[str, Any]
    tensors: Tensors


@cache
def checkpoints() -> dict[str, Shrunk]:
    """The recorded checkpoints by model_type."""
    lines = (FIXTURES / "checkpoints.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {
        r["model_type"]: Shrunk(r["model_type"], r["config"], {k: (d, tuple(s)) for k, (d, s) in r["tensors"].items()})
        for r in rows
    }


def write(path: Path, tensors: Tensors) -> None:
    """A safetensors file of zeros with these tensors, written by the safetensors library."""
    sizes = {name: BITS[dtype] * prod(shape) // 8 for name, (dtype, shape) in tensors.items()}
    zeros = ctypes.create_string_buffer(
        max(sizes.values(), default=0) + 1
    )  # the library copies from here while it writes
    data = {
        name: TensorSpec(dtype=KIND[dtype], shape=shape, data_ptr=ctypes.addressof(zeros), data_len=sizes[name])
        for name, (dtype, shape) in tensors.items()
    }
    serialize_file(data, str(path), {"format": "pt"})


def folder(path: Path, config: dict[str, Any], tensors: Tensors) -> Path:
    """A checkpoint folder: config.json and model.safetensors."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    write(path / "model.safetensors", tensors)
    return path


def held(config: dict[str, Any], tensors: Tensors, quantization: dict[str, Any] | None = None) -> Comparison:
    """The comparison of a config with tensors."""
    found = derive(config)
    assert found.model is not None, found.fingerprint.refusal_reason
    listing = {k: Stored(s, d) for k, (d, s) in tensors.items()}
    return compare(
        found.model,
        reader(config).rules,
        listing,
        quantization=quantization,
        n_mtp=found.fingerprint.n_mtp_layers,
        towers=found.towers,
    )
