"""A snapshot's file from an address, without any token, bounded in size, into a folder that is removed afterwards."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from pipeline.durable import write_streamed
from pipeline.errors import NotFound, Upstream
from pipeline.text import shorten, terminal

MOST_BYTES = 4 << 30
SILENCE = 30.0


@contextmanager
def download(url: str) -> Iterator[Path]:
    """The file of an address while the context lasts. Raises `NotFound`, `Upstream`."""
    with tempfile.TemporaryDirectory(prefix="atlas-open-") as folder:
        last = unquote(url.partition("?")[0].partition("#")[0].rpartition("/")[2]).removesuffix(".duckdb")
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", last)[-80:].strip(".") or "snapshot"
        path = Path(folder) / f"{name}.duckdb"
        _fetch(url, path)
        yield path


def _fetch(url: str, path: Path) -> None:
    import httpx2

    said = shorten(terminal(re.sub(r"(?<=://)[^/@]*@", "", url)), 200)  # what stands before an @ may be a password
    try:
        with httpx2.stream("GET", url, timeout=SILENCE, follow_redirects=True) as response:
            if response.status_code == 429 or response.status_code >= 500:
                raise Upstream(f"{said}: an answer of status {response.status_code}; try again later")
            if response.status_code != 200:
                raise NotFound(f"{said}: an answer of status {response.status_code}; check the address")
            write_streamed(path, _bounded(said, response.iter_bytes()), point="download.file")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Upstream(f"{said} cannot be had ({type(error).__name__}); check the address or the network") from error


def _bounded(url: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks as they come; raises `Upstream` where there are more than may be."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise Upstream(f"{url} is larger than {MOST_BYTES >> 30} GiB")
        yield chunk
