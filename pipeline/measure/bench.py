"""What an engine's benchmark says, whichever tool wrote it: strict records of what its JSON must hold."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson

from pipeline.errors import NotFound, Usage
from pipeline.sources.measured import Number
from pipeline.text import shorten, terminal

LARGEST = 2**26
"""Bytes of a file: one with every request's details may be large."""
MOST = 10_000
"""Results in a file."""
LONGEST = 300
"""Characters of any text that is kept."""

TAKES = "it takes the JSON of 'vllm bench serve --save-result' or of 'llama-bench -o json' (or jsonl)"


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """One result: what ran where and when, its numbers, and what a bound needs to know.

    `tokens_before` are in the cache at least when a token is decoded; `prompt` are processed before the first one, and
    `behind` are cached when that begins. None where the tool does not say: then an option must, or there is no bound.
    """

    tool: str
    model: str
    hardware: str | None
    engine: str
    version: str | None
    measured_on: dt.date
    conditions: str
    numbers: tuple[Number, ...]
    steps: str | None = None
    """The quantity, tokens a second of one sequence or milliseconds a token, that a decode step bounds."""
    prompts: str | None = None
    """The quantity that the operations of a prompt bound."""
    tokens_before: int = 0
    prompt: int = 0
    behind: int = 0
    tp: int = 1
    params: int | None = None
    width: float | None = None
    """Bytes a weight in the file that was served, where the tool says so."""
    cache: tuple[str, ...] = ()
    """Types of keys and of values, where the tool says so."""
    on_cpu: bool = False
    is_fp4: bool = False
    without: str | None = None
    """Why no bound is put beside it."""


def entries(path: Path) -> list[dict[str, Any]]:
    """The objects of a file: one, an array of them, or one a line.

    Raises:
        NotFound: there is no such file; Usage: it is too large, no JSON, or holds something else.
    """
    data = _read(path)
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as whole:
        found = _by_line(path, data, whole)
    listed: list[Any] = found if isinstance(found, list) else [found]
    if not listed or not all(isinstance(e, dict) for e in listed):
        raise Usage(f"{path} holds no results: {TAKES}")
    if len(listed) > MOST:
        raise Usage(f"{path} holds {len(listed):,} results: at most {MOST:,} are taken at once")
    return listed


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise Usage(f"{path} has {path.stat().st_size:,} bytes: at most {LARGEST:,} are read")
        return path.read_bytes()
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}") from error


def _by_line(path: Path, data: bytes, whole: orjson.JSONDecodeError) -> list[Any]:
    """One object a line, as tools write that append; a broken file of one object is told where it breaks."""
    lines = [line for line in data.splitlines() if line.strip()]
    try:
        return [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError as error:
        said = f"is no JSON, or cut short ({whole.msg}, line {whole.lineno})"
        raise Usage(f"{path} {said}: {TAKES}") from error


class Entry:
    """One result of a file, read key by key; what is missing or senseless is a `Usage` that names file and key."""

    def __init__(self, path: Path, place: int, raw: dict[str, Any]) -> None:
        self.raw, self.where = raw, f"{path}, result {place}"

    def number(self, key: str, *, least: float = 0, above: bool = False) -> float:
        """A finite number, of at least (or above) `least`."""
        value = self.raw.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(f"{key} is {_shown(value)}, not a number")
        if value < least or (above and value == least) or value > 1e18:
            raise self.wrong(f"{key} is {_shown(value)}, which cannot be")
        return float(value)

    def whole(self, key: str, *, least: int = 0, default: int | None = None) -> int:
        """A whole number; `default` where the key is absent, for keys that older versions do not write."""
        if default is not None and key not in self.raw:
            return default
        value = self.number(key, least=least)
        if value != int(value):
            raise self.wrong(f"{key} is {_shown(value)}, not a whole number")
        return int(value)

    def text(self, key: str) -> str:
        """A text that is not empty, of one visible line."""
        value = self.raw.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"{key} is {_shown(value)}, not a text")
        return kept(value)

    def maybe(self, key: str) -> str | None:
        """A text, or nothing."""
        value = self.raw.get(key)
        return self.text(key) if isinstance(value, str) and value.strip() else None

    def agree(self, what: str, stated: float, computed: float, share: float = 0.01) -> None:
        """Refuse a result whose own figures contradict each other."""
        if abs(stated - computed) > share * max(abs(stated), abs(computed)):
            raise self.wrong(f"{what} is {stated:,.6g}, but its other figures give {computed:,.6g}")

    def wrong(self, said: str) -> Usage:
        """The error that names the place."""
        return Usage(f"{self.where}: {said}; nothing was imported: {TAKES}")


def each(path: Path, raw: list[dict[str, Any]]) -> Iterator[Entry]:
    """The results with their places."""
    for place, one in enumerate(raw, 1):
        yield Entry(path, place, one)


def kept(value: str) -> str:
    """A stranger's text as it is kept: one visible line, not too long."""
    return shorten(terminal(value.strip()), LONGEST)


def _shown(value: object) -> str:
    return "missing" if value is None else shorten(terminal(repr(value)), 60)
