"""The head of a GGUF file: its metadata and its table of tensors. Weights are never read.

It comes from strangers: counts, lengths and the head as a whole are bounded, and what does not keep the format's own
rules (llama.cpp's `gguf.cpp`) is refused: little-endian, version 2 or 3, no name twice, types that are known, tensors
one behind the other at the file's alignment, all of them within the file. Long lists (a vocabulary) are counted and
passed by.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

from atlas.checkpoint.listing import Stored
from atlas.stored.gguf import ALIGNMENT, TYPES, Type, padded
from pipeline.errors import Invalid, NotFound

MIB = 2**20
LONGEST_HEAD = 256 * MIB
MOST_TENSORS = 200_000
MOST_KEYS = 20_000
LONGEST_KEY = 65_535
LONGEST_TEXT = 8 * MIB
MOST_KEPT = 4_096
"""Numbers of a list that are kept; of a longer one, and of every list of texts, only the length is known."""
MOST_ENTRIES = 8_000_000
_DIMENSIONS = 4
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST = 8, 9
_VERSIONS = (2, 3)


class Counted(NamedTuple):
    """A list of which only the length is kept."""

    length: int


Value = int | float | bool | str | tuple[int | float, ...] | Counted


class Tensor(NamedTuple):
    """A tensor of the table: its shape, rows first as elsewhere here, its type and its bytes."""

    shape: tuple[int, ...]
    type: Type
    bytes: int


class Table(NamedTuple):
    """The head of one file. `tensor_bytes` is without padding, `data_bytes` with it."""

    version: int
    metadata: Mapping[str, Value]
    tensors: Mapping[str, Tensor]
    head_bytes: int
    data_bytes: int

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(t.bytes for t in self.tensors.values())

    @property
    def listing(self) -> dict[str, Stored]:
        """The tensors as a header lists them; a type's block packs its weights, and the shape counts them."""
        return {name: Stored(t.shape, t.type.name) for name, t in self.tensors.items()}


def read(path: Path) -> Table:
    """The head of a file. Raises `NotFound` or `Invalid`."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise NotFound(f"{path} is no file: give a GGUF's own path")
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            return _read(_Reader(file, path.name, size))
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error


class _Reader:
    """A file read from front to back, never beyond the longest head."""

    def __init__(self, file: IO[bytes], name: str, size: int) -> None:
        self.file, self.name, self.size, self.at = file, name, size, 0
        self.entries = 0

    def wrong(self, why: str) -> Invalid:
        return Invalid(f"{self.name}: {why}")

    def take(self, n: int) -> bytes:
        """The next bytes."""
        self._room(n)
        raw = self.file.read(n)
        if len(raw) < n:
            raise self.wrong("it ends inside its head: it was cut short")
        return raw

    def skip(self, n: int) -> None:
        """Pass by the next bytes."""
        self._room(n)
        self.file.seek(n, 1)

    def _room(self, n: int) -> None:
        self.at += n
        if self.at > min(self.size, LONGEST_HEAD):
            raise self.wrong("its head is longer than the file, or than any head")

    def number(self, form: str) -> int | float | bool:
        """A number of this form."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def whole(self, form: str, most: int, what: str) -> int:
        """A whole number of this form, at most so large."""
        n = int(self.number(form))
        if n > most:
            raise self.wrong(f"{what} is {n:,}, more than {most:,}")
        return n

    def text(self, most: int) -> str:
        """A text: its length in bytes, then UTF-8."""
        raw = self.take(self.whole("<Q", most, "the length of a text"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong("a text is not UTF-8") from None


def _read(r: _Reader) -> Table:
    if r.take(4) != b"GGUF":
        raise r.wrong("it does not begin as a GGUF file")
    version = int(r.number("<I"))
    if version not in _VERSIONS:
        raise r.wrong(f"version {version} is not read: 2 and 3 are, little-endian")
    n_tensors, n_keys = (
        r.whole("<Q", MOST_TENSORS, "the count of tensors"),
        r.whole("<Q", MOST_KEYS, "the count of keys"),
    )
    metadata: dict[str, Value] = {}
    for _ in range(n_keys):
        key = r.text(LONGEST_KEY)
        if key in metadata:
            raise r.wrong(f"the key {key[:60]!r} is given twice")
        metadata[key] = _value(r, r.whole("<I", 12, "the type of a value"))
    alignment = _alignment(r, metadata)
    tensors, data = _tensors(r, n_tensors, alignment)
    head = padded(r.at, alignment)
    if r.size < head + data - (alignment - 1 if tensors else 0):
        raise r.wrong("it ends before its last tensor: it was cut short")
    return Table(version, metadata, tensors, head, data)


def _value(r: _Reader, kind: int) -> Value:
    if kind == _TEXT:
        return r.text(LONGEST_TEXT)
    if kind != _LIST:
        return r.number(_SCALARS[kind])
    each, n = r.whole("<I", 12, "the type of a list"), r.whole("<Q", MOST_ENTRIES, "the length of a list")
    r.entries += n
    if each == _LIST or r.entries > MOST_ENTRIES:
        raise r.wrong("lists of lists, and as many entries as these, are not read")
    if each == _TEXT:
        for _ in range(n):
            r.skip(r.whole("<Q", LONGEST_TEXT, "the length of a text"))
        return Counted(n)
    width = struct.calcsize(_SCALARS[each])
    if n > MOST_KEPT:
        r.skip(n * width)
        return Counted(n)
    return struct.unpack(f"<{n}{_SCALARS[each][1]}", r.take(n * width))


def _alignment(r: _Reader, metadata: Mapping[str, Value]) -> int:
    found = metadata.get("general.alignment", ALIGNMENT)
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= MIB or found & (found - 1):
        raise r.wrong("general.alignment is no power of two")
    return found


def _tensors(r: _Reader, n: int, alignment: int) -> tuple[dict[str, Tensor], int]:
    """The table, and the bytes of all tensors with their padding."""
    found: dict[str, Tensor] = {}
    end = 0
    for _ in range(n):
        name = r.text(LONGEST_KEY)
        tensor, offset = _tensor(r, name)
        if name in found:
            raise r.wrong(f"the tensor {name[:60]!r} is given twice")
        if offset != end:
            raise r.wrong(f"the tensor {name[:60]!r} lies at {offset:,} and should at {end:,}")
        found[name] = tensor
        end += padded(tensor.bytes, alignment)
    return found, end


def _tensor(r: _Reader, name: str) -> tuple[Tensor, int]:
    dimensions = r.whole("<I", _DIMENSIONS, "the dimensions of a tensor")
    shape = tuple(r.whole("<Q", 2**63 - 1, "a length of a tensor") for _ in range(dimensions))
    kind, offset = TYPES.get(int(r.number("<I"))), int(r.number("<Q"))
    if kind is None:
        raise r.wrong(f"the tensor {name[:60]!r} has a type that is not known")
    if not shape or math.prod(shape) >= 2**63 or shape[0] % kind.block:
        raise r.wrong(f"the tensor {name[:60]!r} has a shape that its type cannot have")
    return Tensor(shape[::-1], kind, math.prod(shape) // kind.block * kind.bytes), offset
