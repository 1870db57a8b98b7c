"""How many bytes one cache element takes in a data type."""

from __future__ import annotations

from pipeline.errors import Usage

WIDTHS: dict[str, float] = {
    "fp32": 4,
    "float32": 4,
    "fp16": 2,
    "float16": 2,
    "bf16": 2,
    "bfloat16": 2,
    "fp8": 1,
    "int8": 1,
    "int4": 0.5,
    "fp4": 0.5,
}
"""Elements alone: scales and zero points of a quantized cache are the engine's and not counted."""


def width_of(dtype: str) -> float:
    """Bytes per element; raises `Usage`."""
    if dtype.lower() not in WIDTHS:
        raise Usage(f"--dtype {dtype}: say one of {', '.join(WIDTHS)}")
    return WIDTHS[dtype.lower()]


CONTEXTS = {"k": 1024, "m": 1024 * 1024}


def context_of(text: str) -> int:
    """Tokens of a context such as 8192, 128k or 1m (k is 1,024); raises `Usage`."""
    unit = CONTEXTS.get(text[-1:].lower(), 1)
    digits = text[:-1] if unit > 1 else text
    if not digits.isdecimal() or not 0 < int(digits) * unit <= 2**31:
        raise Usage(f"--at {text}: say a number of tokens, such as 8192, 128k or 1m")
    return int(digits) * unit


def words_of(n: int) -> str:
    """A context in the words of --at: 128K, 1M, or the number."""
    for size, unit in ((1024 * 1024, "M"), (1024, "K")):
        if n % size == 0:
            return f"{n // size}{unit}"
    return f"{n:,}"
