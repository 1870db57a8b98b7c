"""Config files on disk: which files a path means, and which model a file name stands for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from atlas.api import read
from pipeline.errors import NotFound


def model_name(path: Path) -> str:
    """`<org>--<name>.json` is the model `<org>/<name>` (the first `--` only).

    Any other file is named without `.json`.
    """
    stem = path.name.removesuffix(".json")
    org, dashes, name = stem.partition("--")
    return f"{org}/{name}" if dashes and org and name else stem


def is_checkpoint(path: Path) -> bool:
    """A folder that holds one model."""
    return (path / "config.json").is_file()


def config_files(folder: Path) -> list[Path]:
    """The configs of a folder, in file-name order.

    `*.json` beside each other, or `config.json` of the checkpoints in it.
    """
    files = sorted(p for p in folder.glob("*.json") if p.is_file())
    return files or sorted(folder.glob("*/config.json"))


def configs(path: Path) -> Iterator[tuple[str, bytes]]:
    """The models a path means, named, with the bytes of their configs; raises `NotFound`."""
    if not path.exists():
        raise NotFound(f"{path} does not exist: give a config.json, a checkpoint folder, a folder of configs, or -")
    if path.is_file() or is_checkpoint(path):
        yield (path.name if path.is_dir() else model_name(path)), read(path)
        return
    files = config_files(path)
    if not files:
        raise NotFound(f"{path} holds no *.json and no folder with a config.json")
    for file in files:
        yield (file.parent.name if file.name == "config.json" and file.parent != path else model_name(file)), read(file)
