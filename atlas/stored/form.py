"""The stored form of one module, as plain data, and the widths of the types that files hold."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

Shape = tuple[int, ...]

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64,
    "U64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Bits of one element of each type that a safetensors header can name."""

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float": "F32", "half": "F16",
    "fp16": "F16", "bf16": "BF16", "fp32": "F32",
}  # fmt: skip
"""A config's words for a type, and the file's."""


class Unsaid(Exception):
    """The settings do not say enough to know what the files hold; the text says what is missing."""


class Part(NamedTuple):
    """One tensor of a stored module: what it is for, its type, its shape."""

    what: str  # weight, scale, zero_point, order or settings
    dtype: str
    shape: Shape
    once: bool = False  # one for all experts of a layer, its shape says how many

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return prod(self.shape)

    @property
    def bits(self) -> int:
        """Its size in bits."""
        return self.elements * BITS[self.dtype]


class Form(NamedTuple):
    """How one module is stored: what it is called, bits and group of a weight, along what it is packed, its tensors.

    `loose` counts tensors whose length is data and follows from no rule (a number written out in decimal); `times` is
    how many of each tensor there are, where a module of the structure is several in the files.
    """

    scheme: str
    bits: int
    group: int | None
    packing: str
    parts: tuple[Part, ...]
    loose: int = 0
    times: int = 1


def ceil(a: int, b: int) -> int:
    """Division, rounded up."""
    return -(-a // b)


def whole(a: int, b: int) -> int:
    """Division without a rest. Raises `Unsaid` where a width is no multiple of its groups."""
    if a % b:
        raise Unsaid(f"a width of {a:,} is no multiple of {b}, and how the rest is stored is not said")
    return a // b


def group_of(stated: object, width: int) -> int:
    """The group size along `width` inputs: -1, 0 or nothing stated is one group. Raises `Unsaid`."""
    if stated is None or stated in (-1, 0):
        return width
    if type(stated) is not int or stated < 1:
        raise Unsaid("group_size is no size")
    return stated


def bits_of(stated: object, known: tuple[int, ...] = (2, 3, 4, 5, 6, 8)) -> int:
    """A stated number of bits. Raises `Unsaid`."""
    if type(stated) is not int or stated not in known:
        raise Unsaid(f"bits is none of {', '.join(map(str, known))}")
    return stated


def head_apart(*, is_tied: bool, taken: bool) -> None:
    """Raises `Unsaid` where settings take a head that is tied: some tools part the two, others leave both."""
    if is_tied and taken:
        raise Unsaid("the settings take the head, which is tied: whether the two are stored apart is not said")
