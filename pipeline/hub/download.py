"""A snapshot's file from an address, without any token, bounded in size, into a folder that is removed afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.durable import write_streamed
from pipeline.errors import NotFound, Upstream

MOST_BYTES = 4 << 30
SILENCE = 30.0


@contextmanager
def download(url: str) -> Iterator[Path]:
    """The file of an address while the context lasts. Raises `NotFound`, `Upstream`."""
    with tempfile.TemporaryDirectory(prefix="atlas-open-") as folder:
        name = url.partition("?")[0].rpartition("/")[2] or "snapshot.duckdb"
        path = Path(folder) / (name if name.endswith(".duckdb") else f"{name}.duckdb")
        _fetch(url, path)
        yield path


def _fetch(url: str, path: Path) -> None:
    import httpx2

    try:
        with httpx2.stream("GET", url, timeout=SILENCE, follow_redirects=True) as response:
            if response.status_code != 200:
                raise NotFound(f"{url}: an answer of status {response.status_code}")
            write_streamed(path, _bounded(url, response.iter_bytes()), point="download.file")
    except httpx2.HTTPError as error:
        raise Upstream(f"{url} cannot be had ({type(error).__name__}); check the address or the network") from error


def _bounded(url: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks as they come; raises `Upstream` where there are more than may be."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise Upstream(f"{url} is larger than {MOST_BYTES >> 30} GiB")
        yield chunk
