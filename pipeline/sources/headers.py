"""Headers of safetensors files, on disk and on the Hub: name, type and shape of every tensor. Weights are never read.

A header is eight bytes of length and that much JSON. It comes from strangers: its length is bounded, and it is held
to the rules of the format's own library (safetensors, `SafeTensors::read_metadata`): tensors lie one behind the other
from the first byte to the last, each as long as its type and shape say, every type is known and no name given twice.
What does not keep them is refused. An index file alone gives names, and how many bytes all
tensors take.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from atlas.checkpoint.listing import Stored
from atlas.stored.form import BITS
from pipeline.errors import Invalid, NotFound

MIB = 2**20
LONGEST = 100 * MIB
"""The longest header that the format's own library takes."""
LONGEST_INDEX = 64 * MIB
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


class Headers(NamedTuple):
    """The tensors of a checkpoint, from `files`. `total_bytes` is what an index states, where there is one."""

    listing: dict[str, Stored]
    files: tuple[str, ...]
    total_bytes: int | None = None


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class Index(msgspec.Struct):
    """An index file: which tensor stands in which shard."""

    weight_map: dict[str, str]
    metadata: dict[str, object] | None = None

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all tensors as stated."""
        stated = (self.metadata or {}).get("total_size")
        return int(stated) if isinstance(stated, int | float) and not isinstance(stated, bool) else None


def length(start: bytes, name: str) -> int:
    """Bytes of JSON in a header, from the first eight of a file; raises `Invalid`."""
    n = int.from_bytes(start[:8], "little")
    if len(start) < 8 or not 2 <= n <= LONGEST:
        raise Invalid(f"{name} is no safetensors file: its first eight bytes give no possible length of a header")
    return n


def parsed(header: bytes, name: str, size: int | None = None) -> dict[str, Stored]:
    """The tensors of one header; `size` is that of the whole file in bytes, where known. Raises `Invalid`."""
    try:
        raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        msgspec.json.decode(raw.pop("__metadata__", b"{}"), type=dict[str, str])
        entries = {k: msgspec.json.decode(v, type=_Entry) for k, v in raw.items()}
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise Invalid(f"{name}: its header cannot be read: {error}") from error
    if not header.startswith(b"{"):
        raise Invalid(f"{name}: its header does not begin with an object: the file is damaged")
    if header.count(_OFFSETS) != len(entries):
        _refuse_twice(header, name)
    room = None if size is None else size - 8 - len(header)
    for tensor, entry in entries.items():
        _fits(entry, f"{name}: {tensor}", room)
    _in_a_row(entries, name, room)
    return {k: Stored(tuple(e.shape), e.dtype) for k, e in entries.items()}


_OFFSETS = b'"data_offsets"'


def _refuse_twice(header: bytes, name: str) -> None:
    """The quick count of entries did not agree: look for a name given twice. Raises `Invalid`."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [k for k, _ in pairs]
            twice = next(k for k in keys if keys.count(k) > 1)
            raise Invalid(f"{name}: {twice} is given twice: the file is damaged")
        return found

    json.loads(header, object_pairs_hook=once)


def _fits(entry: _Entry, name: str, room: int | None) -> None:
    first, last = entry.data_offsets
    if any(n < 0 for n in entry.shape) or not 0 <= first <= last or (room is not None and last > room):
        raise Invalid(f"{name} lies outside the file: it is damaged or was cut short")
    bits = BITS.get(entry.dtype)
    if bits is None:
        raise Invalid(f"{name} has the type {entry.dtype[:40]!r}, which the format does not have")
    if 8 * (last - first) != bits * math.prod(entry.shape):
        raise Invalid(f"{name} has {last - first} bytes, which its type and shape do not make")


def _in_a_row(entries: Mapping[str, _Entry], name: str, room: int | None) -> None:
    """Tensors lie one behind the other, with nothing between them and nothing behind the last. Raises `Invalid`."""
    end, before = 0, "the header"
    for start, stop, tensor in sorted((*e.data_offsets, tensor) for tensor, e in entries.items()):
        if start < end:
            raise Invalid(f"{name}: {before} and {tensor} lie on the same bytes: the file is damaged")
        if start > end:
            raise Invalid(f"{name}: {start - end} bytes between {before} and {tensor} belong to none: it is damaged")
        end, before = stop, tensor
    if room is not None and end != room:
        raise Invalid(f"{name}: {room - end} bytes behind the last tensor belong to none: the file is damaged")


def read(path: Path) -> dict[str, Stored]:
    """The tensors of one file on disk; raises `Invalid` or `NotFound`."""
    try:
        with path.open("rb") as file:
            n = length(file.read(8), path.name)
            header = file.read(n)
            size = file.seek(0, 2)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error
    if len(header) < n:
        raise Invalid(f"{path.name} ends inside its header: it was cut short")
    return parsed(header, path.name, size)


def index(raw: bytes, name: str) -> Index:
    """An index file read; raises `Invalid`."""
    if len(raw) > LONGEST_INDEX:
        raise Invalid(f"{name} is larger than any index: more than {LONGEST_INDEX} bytes")
    try:
        return msgspec.json.decode(raw, type=Index)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise Invalid(f"{name} is no index of a checkpoint: {error}") from error


def local(path: Path) -> Headers:
    """The tensors of a checkpoint on disk: a safetensors file, an index, or the folder of them.

    Raises `NotFound` or `Invalid`.
    """
    try:
        if path.is_dir():
            return _folder(path)
        if not path.is_file():
            raise NotFound(f"{path} does not exist: give a checkpoint folder, a .safetensors file or an index")
        return _indexed(path) if path.name.endswith(".index.json") else Headers(read(path), (path.name,))
    except OSError as error:
        raise NotFound(f"{error.filename} cannot be read: {error.strerror}") from error


def are_whole(folder: Path) -> bool:
    """Whether a folder has all weight files that it should, so that their headers can be read."""
    try:
        return all(e.shape is not None for e in local(folder).listing.values())
    except (Invalid, NotFound):
        return False


def _folder(path: Path) -> Headers:
    for name in INDEXES:
        if (path / name).is_file():
            return _indexed(path / name)
    files = weights([p.name for p in path.iterdir() if p.is_file()])
    if not files:
        raise NotFound(f"{path} holds no safetensors file and no index of one")
    return together({f: read(path / f) for f in files})


def _indexed(path: Path) -> Headers:
    """The shards that an index names; its names alone where none of them is here."""
    with path.open("rb") as file:
        found = index(file.read(LONGEST_INDEX + 1), path.name)
    shards = sorted(set(found.weight_map.values()))
    here = [s for s in shards if s.endswith(".safetensors") and (path.parent / _plain(s)).is_file()]
    if not here:
        return named(found, path.name)
    if len(here) < len(shards):
        lost = next(s for s in shards if s not in here)
        raise NotFound(f"{path.parent / lost} is missing: the index names {len(shards)} files and {len(here)} are here")
    return together({s: read(path.parent / s) for s in shards}, found.total_bytes)


def named(found: Index, name: str) -> Headers:
    """What an index alone says."""
    return Headers(dict.fromkeys(found.weight_map, Stored()), (name,), found.total_bytes)


def _plain(name: str) -> str:
    """A file's name without a path: an index may not lead out of its folder. Raises `Invalid`."""
    if "/" in name or "\\" in name or name in ("", ".", ".."):
        raise Invalid(f"the index names the file {name[:100]!r}, which is outside its folder")
    return name


def weights(names: Iterable[str]) -> list[str]:
    """The files of a folder that hold the model.

    `model.safetensors`, else its shards, else every safetensors file that is no adapter.
    """
    found = sorted(n for n in names if n.endswith(".safetensors") and "/" not in n)
    rules: tuple[Callable[[str], bool], ...] = (
        lambda n: n == "model.safetensors",
        lambda n: n.startswith("model-") and "-of-" in n,
        lambda n: not n.startswith(("adapter_", "consolidated", "training_", "optimizer")),
    )
    return next((kept for rule in rules if (kept := [n for n in found if rule(n)])), [])


def together(files: Mapping[str, dict[str, Stored]], total_bytes: int | None = None) -> Headers:
    """The tensors of several files as one listing; raises `Invalid` where two hold the same one."""
    listing: dict[str, Stored] = {}
    for name, tensors in files.items():
        twice = listing.keys() & tensors.keys()
        if twice:
            raise Invalid(f"{name}: {min(twice)} stands in another file too")
        listing |= tensors
    return Headers(listing, tuple(files), total_bytes)
