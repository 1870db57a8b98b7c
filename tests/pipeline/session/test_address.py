"""`atlas.open` of an address: a snapshot over a real socket, and servers that give something else."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import homes
import polars as pl
import pytest

import atlas
from pipeline import errors

LLAMA = "meta-llama/Llama-3.1-8B"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the catalogue's snapshot."""
    return next((homes.catalogue(tmp_path_factory.mktemp("home")) / "snapshots").glob("*.duckdb"))


@pytest.fixture(scope="module")
def server(snapshot: Path) -> Iterator[str]:
    """A server on the loopback with the snapshot, and with what a server may give instead."""
    whole = snapshot.read_bytes()
    empty = snapshot.with_name("empty.duckdb")
    duckdb.connect(str(empty)).close()
    none = empty.read_bytes()
    empty.unlink()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert "Authorization" not in self.headers
            name = self.path.partition("?")[0].rpartition("/")[2]
            status, body, size = {
                "page.html": (200, b"<html>not found</html>", None),
                "cut.duckdb": (200, whole[: len(whole) // 2], len(whole)),
                "short.duckdb": (200, whole[: len(whole) // 2], None),
                "empty.duckdb": (200, none, None),
                "busy.duckdb": (503, b"", None),
                "away.duckdb": (302, b"", None),
                "round.duckdb": (302, b"", None),
            }.get(name, (200, whole, None) if "snapshots" in self.path else (404, b"", None))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/snapshots/x.duckdb" if name == "away.duckdb" else self.path)
            self.send_header("Content-Length", str(len(body) if size is None else size))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Downloads go into a folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("path", ["/snapshots/2026-11-29.duckdb", "/snapshots/latest?download=true", "/away.duckdb"])
def test_a_snapshot_is_opened_from_its_address(server: str, snapshot: Path, folder: Path, path: str) -> None:
    """Tables, models and SQL as of a home, under the snapshot's own name; the file is gone when it is closed."""
    with atlas.open(f"{server}{path}", offline=True) as snap:
        assert snap.id == snapshot.stem
        rows = snap.table("fingerprints").filter(pl.col("repo_id") == LLAMA).collect()
        assert rows["params_total"].to_list() == [8_030_261_248]
        # 131,072 tokens x 2 x 32 x 8 x 128 elements of two bytes
        assert snap.model("llama 3.1 8b").cache(at="128k") == 16 * 2**30
        assert snap.sql("SELECT count(*) AS n FROM snapshot WHERE snapshot_id IS NOT NULL")["n"].to_list() == [1]
        assert len(list(folder.iterdir())) == 1
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "error", "says"),
    [
        ("/nothing.duckdb", errors.NotFound, "status 404"),
        ("/page.html", errors.NotFound, "is no snapshot"),
        ("/short.duckdb", errors.NotFound, "is no snapshot"),
        ("/empty.duckdb", errors.NotFound, "is no snapshot"),
        ("/cut.duckdb", errors.Upstream, "cannot be had"),
        ("/busy.duckdb", errors.Upstream, "status 503"),
        ("/round.duckdb", errors.Upstream, "cannot be had"),
    ],
)
def test_what_is_no_snapshot_is_an_error_in_words(
    server: str, folder: Path, path: str, error: type[Exception], says: str
) -> None:
    """A page, half a file, an empty database, a busy server, a circle: typed, in a sentence, and nothing is left."""
    with pytest.raises(error, match=says):
        atlas.open(server + path)
    assert list(folder.iterdir()) == []


def test_an_address_that_nobody_answers() -> None:
    """No server, no address: `Upstream`; a password in it is not repeated."""
    for url in ("http://127.0.0.1:9/x.duckdb", "http://user:geheim@127.0.0.1:9/x", "http://[::1/x", "https://"):
        with pytest.raises(errors.Upstream) as caught:
            atlas.open(url)
        assert "geheim" not in str(caught.value)
