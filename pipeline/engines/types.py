"""The types a cache or weights may be kept in: bytes an element with what belongs to it, and what is not counted."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.errors import Usage


class Kept(NamedTuple):
    """One type: `each` bytes an element, scales in it, and `per_head` bytes a token for each of K and V of one head."""

    name: str
    each: float
    per_head: int = 0
    says: str = ""


_GGML = "ggml's block of 32 with its scale"
_TYPES = (
    Kept("fp32", 4),
    Kept("bf16", 2),
    Kept("fp16", 2),
    Kept("fp8", 1, says="one scale a tensor, not in the cache"),
    Kept("fp8_per_token_head", 1, 4, "a float32 scale for each token and head, of K and of V"),
    Kept("int8", 1, 4, "a float32 scale for each token and head, of K and of V"),
    Kept("nvfp4", 0.5 + 1 / 16, says="half a byte, and a byte of scale for each 16"),
    Kept("mxfp4", 0.5 + 1 / 32, says="half a byte, and a byte of scale for each 32"),
    Kept("fp4", 0.5, says="elements alone, without scales"),
    Kept("int4", 0.5, says="elements alone, without scales"),
    Kept("q8_0", 34 / 32, says=_GGML),
    Kept("q5_1", 24 / 32, says=f"{_GGML} and minimum"),
    Kept("q5_0", 22 / 32, says=_GGML),
    Kept("q4_1", 20 / 32, says=f"{_GGML} and minimum"),
    Kept("q4_0", 18 / 32, says=_GGML),
    Kept("iq4_nl", 18 / 32, says=_GGML),
)
_ALIASES = {"float32": "fp32", "f32": "fp32", "float16": "fp16", "f16": "fp16", "half": "fp16", "bfloat16": "bf16",
            "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "float8_e4m3fn": "fp8", "fp8_inc": "fp8",
            "int8_per_token_head": "int8"}  # fmt: skip
DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes an element of the types that configs state under `dtype`."""

KNOWN: dict[str, Kept] = {t.name: t for t in _TYPES}


def kept_in(name: str, option: str = "--dtype") -> Kept:
    """The type of this name; raises `Usage` with the names there are."""
    found = KNOWN.get(_ALIASES.get(name.lower(), name.lower()))
    if found is None:
        raise Usage(f"{option} {name}: say one of {', '.join(KNOWN)}")
    return found
