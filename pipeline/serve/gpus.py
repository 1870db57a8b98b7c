"""GPUs by name (`gpus.toml`), and any other by its memory."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec

from pipeline.errors import Usage

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "g": 2**30, "m": 2**20}  # fmt: skip


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU: bytes of memory, bytes a second, dense operations a second by type; null where not known."""

    name: str = ""
    memory: int
    bandwidth: int | None = None
    bf16: int | None = None
    fp8: int | None = None
    int8: int | None = None
    source: str = "as stated"


@lru_cache(maxsize=1)
def table() -> dict[str, Gpu]:
    """Every GPU of the table, by name."""
    with (Path(__file__).parent / "gpus.toml").open("rb") as file:
        rows = tomllib.load(file)
    return {name: msgspec.convert(row | {"name": name}, Gpu) for name, row in rows.items()}


def gpu_of(name: str | None, memory: str | None) -> Gpu:
    """The GPU of a name or of a size of memory; raises `Usage`."""
    if name is not None and memory is not None:
        raise Usage("--gpu and --memory both say how much memory there is: give one")
    if memory is not None:
        return Gpu(name="GPU", memory=bytes_of(memory, "--memory"))
    asked = re.sub(r"nvidia|geforce|amd|instinct|[\s_-]", "", (name or "").lower())
    found = {n: g for n, g in table().items() if asked in _names(n, g)}
    if len(found) != 1:
        raise Usage(f"--gpu {name}: say one of {', '.join(table())}; --memory 24GiB stands for any other")
    return next(iter(found.values()))


def _names(name: str, gpu: Gpu) -> tuple[str, ...]:
    """What a GPU may be called: its name, the name without rtx, the name with its memory."""
    plain = name.replace("-", "")
    return plain, plain.removeprefix("rtx"), f"{plain}{gpu.memory // 10**9}gb"


def bytes_of(text: str, option: str) -> int:
    """Bytes of a size such as 24GiB, 80GB or 512MiB; a unit is needed. Raises `Usage`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?b)", text.strip().lower())
    if found is None:
        raise Usage(f"{option} {text}: say a size with its unit, such as 24GiB (2^30) or 80GB (10^9)")
    return int(float(found[1]) * _UNITS[found[2]])
