"""MODEL as an existing path: a config, a checkpoint or adapter folder, a folder of configs, or a file of weights."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from atlas.parse import MAX_BYTES
from pipeline.ask import adapters, ggufs, weightfiles
from pipeline.ask.found import Found
from pipeline.errors import NotFound, Usage
from pipeline.sources import beside, disk
from pipeline.text import terminal


def stdin() -> Found:
    """The config on stdin. Raises `NotFound` where the process has none."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - so it is in a process started without one
        raise NotFound("there is no stdin to read a config from")
    return Found(name="stdin", source="stdin", raw=sys.stdin.buffer.read(MAX_BYTES + 1))


def is_several(path: Path) -> bool:
    """A folder of configs: neither a checkpoint nor an adapter, nor one of GGUF files alone."""
    return path.is_dir() and not disk.is_checkpoint(path) and not is_weights(path)


def is_weights(folder: Path) -> bool:
    """Whether a folder without a config is a model by its weights: an adapter, or GGUF files."""
    return adapters.is_adapter(folder) or (not disk.config_files(folder) and bool(ggufs.models(folder)))


def one(path: Path) -> Found:
    """The one model of a path. Raises `Usage` for a folder of configs, `NotFound` or `Invalid`."""
    if path.is_dir():
        if is_several(path):
            raise Usage(f"{terminal(str(path))} is a folder without config.json: name one config or checkpoint folder")
        if disk.is_checkpoint(path):
            return _checkpoint(path)
        return adapters.of_folder(path) if adapters.is_adapter(path) else ggufs.of_file(ggufs.only(path))
    if path.suffix == ".gguf" or _begins(path) == b"GGUF":
        return ggufs.of_file(path)
    if path.suffix == ".safetensors":
        return _safetensors(path)
    if path.name == adapters.CONFIG:
        return adapters.of_folder(path.absolute().parent)
    [(name, raw)] = disk.configs(path)
    return Found(name=name, source=str(path), raw=raw, path=str(path))


def _begins(path: Path) -> bytes:
    """The first bytes of a file; of a pipe none, which can be read but once."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(4)
    except OSError:  # what reads the config says so
        return b""


def _checkpoint(folder: Path) -> Found:
    name = disk.shown(folder.absolute())
    raw = disk.content(folder / "config.json")
    return Found(name=name, source=str(folder), raw=raw, path=str(folder), beside=beside.of_folder(folder))


def _safetensors(path: Path) -> Found:
    """A file of weights: the checkpoint that it makes with the config beside it, else what its header says."""
    folder = path.absolute().parent
    if disk.is_checkpoint(folder) and beside.is_whole(folder, path.name):
        return _checkpoint(folder)
    if path.name.startswith("adapter_") and adapters.is_adapter(folder):
        return adapters.of_folder(folder)
    return weightfiles.of_safetensors(path)


def each(path: Path) -> Iterator[Found]:
    """Every config of a folder of configs, bad ones too, in file-name order."""
    for name, raw in disk.configs(path):
        yield Found(name=name, source=str(path), raw=raw)
