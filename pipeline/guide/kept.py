"""What the last build of a guide left, so that the next one draws only what would come out otherwise.

Beside the guide lies a record: a digest of everything the build stood on (snapshot, page sources, code), of every file
it wrote, and of what each chart was drawn from. A file that somebody changed since counts as not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

import atlas
import pipeline
import schemas
from pipeline.durable import write_atomically

RECORD = ".guide.json"
DRAWN_BY = ("altair", "vl-convert-python", "jinja2", "duckdb")


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One build.

    `stood_on` is the digest of its input, `pages` the digests of the files of each page by path, `charts` for each
    chart's file the digest of what it was drawn from.
    """

    stood_on: str
    pages: dict[str, dict[str, str]]
    charts: dict[str, str]


NOTHING = Record("", {}, {})


def digest(*parts: bytes) -> str:
    """SHA-256 of parts, each with its length before it."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def of(value: Any) -> str:
    """The digest of a value that JSON can say, its dates and decimals too."""
    return digest(msgspec.json.encode(value, order="deterministic"), code().encode())


def stood_on(snapshot: bytes, sources: Path) -> str:
    """The digest of what a build stands on: the snapshot's own, every page source, and the code."""
    return digest(snapshot, code().encode(), *_contents(sources))


@cache
def code() -> str:
    """The digest of the installed packages' files and of the libraries that draw."""
    libraries = [f"{name} {version(name)}".encode() for name in DRAWN_BY]
    folders = [Path(str(package.__file__)).parent for package in (atlas, schemas, pipeline)]
    return digest(*libraries, *(part for folder in folders for part in _contents(folder)))


def _contents(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix().encode()
            yield path.read_bytes()


def read(place: Path) -> Record:
    """The record beside the guide's folder; an absent, damaged or foreign one says that nothing is kept."""
    try:
        return msgspec.json.decode((place.parent / RECORD).read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return NOTHING


def write(place: Path, record: Record) -> None:
    """Write the record. Raises `AtlasError` where the disk does not take it."""
    write_atomically(place.parent / RECORD, msgspec.json.encode(record).decode(), point="guide.record")


def files(place: Path, record: Record) -> dict[str, dict[str, str]]:
    """The files of each page as they lie there, for the pages none of whose files were changed since."""
    found = {
        slug: {path: _same(place / path, known) for path, known in of.items()} for slug, of in record.pages.items()
    }
    return {
        slug: {path: text for path, text in texts.items() if text is not None}
        for slug, texts in found.items()
        if None not in texts.values()
    }


def _same(path: Path, known: str) -> str | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content.decode("utf-8") if digest(content) == known else None


class Drawings:
    """Charts of the last build by what they were drawn from, and what those of this one are drawn from."""

    def __init__(self, record: Record = NOTHING, kept: Mapping[str, Mapping[str, str]] | None = None) -> None:
        texts = {path: text for of in (kept or {}).values() for path, text in of.items()}
        self._known = {key: texts[path] for path, key in record.charts.items() if path in texts}
        self.charts: dict[str, str] = {}

    def drawn(self, path: str, standing_on: Any, draw: Callable[[], str]) -> Callable[[], str]:
        """What gives the chart of a path: that of the last build where it was drawn from the same, else `draw`."""
        key = self.charts[path] = of(standing_on)
        return (lambda: self._known[key]) if key in self._known else draw
