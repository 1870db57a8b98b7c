"""The head of a GGUF file, written here by hand after the format's description, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pipeline.errors import Invalid, NotFound
from pipeline.sources.gguf import Counted, read


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def _key(name: str, kind: int, value: bytes) -> bytes:
    return _text(name) + struct.pack("<I", kind) + value


def _tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return _text(name) + dimensions + struct.pack("<IQ", kind, offset)


ARCHITECTURE = _key("general.architecture", 8, _text("llama"))
HEADS = _key("llama.head_count_kv", 9, struct.pack("<IQ3I", 4, 3, 8, 8, 4))
TOKENS = _key("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + _text("a") + _text("bc"))
TABLE = _tensor("token_embd.weight", (256, 10), 12, 0)
NORM = _tensor("output_norm.weight", (256,), 0, 1440)


def _head(keys: list[bytes], tensors: list[bytes], version: int = 3) -> bytes:
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    head = start + b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % 32)


def _written(folder: Path, raw: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(raw)
    return path


def test_metadata_and_tensors_of_a_sound_file(tmp_path: Path) -> None:
    """Q4_K has 256 weights in 144 bytes: 10 x 256 are 1,440 bytes (45 x 32), and a norm of 256 F32 is 1,024 more."""
    head = _head([ARCHITECTURE, HEADS, TOKENS], [TABLE, NORM])
    found = read(_written(tmp_path, head + bytes(1440 + 1024)))
    assert found.metadata == {
        "general.architecture": "llama",
        "llama.head_count_kv": (8, 8, 4),
        "tokenizer.ggml.tokens": Counted(2),
    }
    assert {n: (t.shape, t.type.name, t.bytes) for n, t in found.tensors.items()} == {
        "token_embd.weight": ((10, 256), "Q4_K", 1440),
        "output_norm.weight": ((256,), "F32", 1024),
    }
    assert (found.tensor_bytes, found.data_bytes, found.head_bytes) == (2464, 2464, len(head))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"GGML" + bytes(60), "does not begin as a GGUF file"),
        (_head([], [], version=1), "version 1 is not read"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 50331648 is not read"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "the count of tensors is"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**40), "the length of a text is"),
        (_head([ARCHITECTURE, ARCHITECTURE], []), "is given twice"),
        (_head([], [TABLE, TABLE]), "is given twice"),
        (_head([_key("k", 13, b"")], []), "the type of a value is 13"),
        (_head([_key("k", 9, struct.pack("<IQ", 9, 1))], []), "lists of lists"),
        (_head([_key("k", 9, struct.pack("<IQ", 4, 2**40))], []), "the length of a list is"),
        (_head([_key("general.alignment", 4, struct.pack("<I", 24))], []), "no power of two"),
        (_head([], [_tensor("t", (256,), 99, 0)]), "a type that is not known"),
        (_head([], [_tensor("t", (100,), 12, 0)]), "a shape that its type cannot have"),
        (_head([], [_tensor("t", (2**40, 2**40), 0, 0)]), "a shape that its type cannot have"),
        (_head([], [_tensor("t", (1,) * 5, 0, 0)]), "the dimensions of a tensor is 5"),
        (_head([], [_tensor("t", (256,), 0, 32)]), "lies at 32 and should at 0"),
        (_head([ARCHITECTURE], [TABLE, NORM]) + bytes(2000), "ends before its last tensor"),
        (_head([ARCHITECTURE], [TABLE])[:40], "its head is longer than the file"),
    ],
)
def test_what_is_no_sound_file_is_refused(tmp_path: Path, raw: bytes, said: str) -> None:
    """Counts, lengths, types, names and offsets of strangers are held to the format's rules."""
    with pytest.raises(Invalid, match=said):
        read(_written(tmp_path, raw))


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    """The path is named with the system's reason."""
    with pytest.raises(NotFound, match="No such file"):
        read(tmp_path / "none.gguf")
