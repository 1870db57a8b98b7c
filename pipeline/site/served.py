"""Shows a built site on this machine, to this machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pipeline.errors import NotFound

LOCAL = "127.0.0.1"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files of one folder and writes no log."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library calls it so
        """Say nothing."""


@contextmanager
def server(folder: Path, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    """A server of a folder on the loopback address; port 0 takes a free one. Raises `NotFound` without a site."""
    if not (folder / "index.html").is_file():
        raise NotFound(f"there is no site in {folder}: 'atlas site build' makes it")
    with ThreadingHTTPServer((LOCAL, port), partial(Quiet, directory=str(folder))) as made:
        yield made
