"""Config files on disk: which files a path means, and which model a file name stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from atlas.parse import MAX_BYTES
from atlas.refusal import Refused
from pipeline.errors import NotFound
from schemas.vocabulary import RefusalKind

Content = bytes | Refused
"""The bytes of a config, or why the system does not give them."""


def model_name(path: Path) -> str:
    """`<org>--<name>.json` is the model `<org>/<name>` (the first `--` only).

    Any other file is named without `.json`.
    """
    stem = shown(path).removesuffix(".json") or shown(path)
    org, dashes, name = stem.partition("--")
    return f"{org}/{name}" if dashes and org and name else stem


def shown(path: Path) -> str:
    """The last part of a path as text; bytes that are not UTF-8 become escapes, so that it can be written anywhere."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def is_checkpoint(path: Path) -> bool:
    """A folder that holds one model."""
    return (path / "config.json").is_file()


def config_files(folder: Path) -> list[Path]:
    """The configs of a folder, in file-name order: `*.json` side by side, or `config.json` of the checkpoints in it."""
    files = sorted(p for p in folder.glob("*.json") if not p.is_dir())
    return files or sorted(folder.glob("*/config.json"))


def checkpoints(folder: Path) -> dict[str, Path]:
    """The checkpoints that a folder means, itself or those in it, under the names that `configs` gives them."""
    if is_checkpoint(folder):
        return {shown(folder.absolute()): folder}
    return {shown(p.parent): p.parent for p in config_files(folder) if p.name == "config.json" and p.parent != folder}


def holds_configs(path: Path) -> bool:
    """Whether a path means any config at all."""
    return not path.is_dir() or is_checkpoint(path) or bool(config_files(path))


def without(folder: Path) -> list[tuple[str, str]]:
    """The checkpoints of a folder that have no config.json, by name, each with what it is instead."""
    if not folder.is_dir() or is_checkpoint(folder) or any(folder.glob("*.json")):
        return []
    places = sorted(p for p in folder.iterdir() if p.is_dir() and not is_checkpoint(p))
    return [(shown(p), why) for p in places if (why := _instead(p)) is not None]


def _instead(place: Path) -> str | None:
    if (place / "adapter_config.json").is_file():
        return "an adapter"
    if any(place.glob("*.gguf")):
        return "GGUF only"
    return "no config.json" if any(p for s in ("*.safetensors", "*.bin") for p in place.glob(s)) else None


def configs(path: Path) -> Iterator[tuple[str, Content]]:
    """The models a path means, named, with the bytes of their configs; a file that cannot be read stops no other one.

    Raises:
        NotFound: the path does not exist, or is a folder that cannot be read or holds no config.
    """
    try:
        yield from _configs(path)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error


def _configs(path: Path) -> Iterator[tuple[str, Content]]:
    if not path.exists():
        raise NotFound(f"{path} does not exist: give a config.json, a checkpoint folder, a folder of configs, or -")
    if not path.is_dir():
        yield model_name(path), content(path)
        return
    if is_checkpoint(path):
        yield shown(path.absolute()), content(path / "config.json")
        return
    files = config_files(path)
    if not files:
        raise NotFound(f"{path} holds no *.json and no folder with a config.json")
    for file in files:
        name = shown(file.parent) if file.name == "config.json" and file.parent != path else model_name(file)
        # In a folder, a pipe would be waited for and a device has no end.
        yield name, content(file) if file.is_file() else _unreadable("it is no file, or a link to none")


def read(path: Path) -> bytes:
    """The bytes of a config file, or of a folder's config.json; no more than one byte beyond what is ever parsed."""
    with (path / "config.json" if path.is_dir() else path).open("rb") as file:
        return file.read(MAX_BYTES + 1)


def content(path: Path) -> Content:
    """The bytes of a config file."""
    try:
        return read(path)
    except OSError as error:
        return _unreadable(str(error.strerror))


def _unreadable(why: str) -> Refused:
    return Refused(RefusalKind.UNREADABLE, f"the file cannot be read: {why}")
