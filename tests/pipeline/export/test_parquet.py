"""A snapshot as Parquet, and as a dataset of the Hub."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb
import hand_made
import homes
import polars as pl
import pytest
import yaml
from markdown_it import MarkdownIt

from pipeline.cli import main
from pipeline.store import snapshot
from schemas.registry import TABLES

pytestmark = pytest.mark.slow

CANARY = "hf_canary000000000000000000000000"


def published(home: Path, source: str = "hand", **listing: object) -> str:
    """A home with a snapshot written by hand; `listing` overrides columns of its models."""

    def publish(place: Path) -> None:
        content = hand_made.content()
        content["models"] = content["models"].with_columns(**{k: pl.lit(v) for k, v in listing.items()})
        about = snapshot.Publication(day=hand_made.DAY, source=source, listed=hand_made.LISTED, code_version="0")
        snapshot.publish(place, content, about)

    wanted = hashlib.sha256(repr((source, sorted(listing.items()))).encode()).hexdigest()
    return str(homes.copied(f"parquet-{wanted}", publish, home))


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file under a folder."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def rows_of(path: Path) -> list[tuple[object, ...]]:
    """What a Parquet file holds."""
    return duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()


def test_every_table_becomes_a_file_with_its_rows(tmp_path: Path) -> None:
    """Each table of the registry, and the view fingerprints, is a Parquet file with the same rows in the same order."""
    home = published(tmp_path)
    assert main(["export", "parquet", "--home", home]) == 0
    folder = tmp_path / "exports" / "parquet" / "2026-11-29"
    assert {p.stem for p in folder.iterdir()} == {"fingerprints", "evidence", "layers_expanded", *TABLES}
    with duckdb.connect(str(tmp_path / "snapshots" / "2026-11-29.duckdb"), read_only=True) as con:
        for name in TABLES:
            assert rows_of(folder / f"{name}.parquet") == con.execute(f"FROM {name}").fetchall()


@pytest.mark.parametrize("kind", ["parquet", "hf"])
def test_the_same_snapshot_gives_the_same_bytes(tmp_path: Path, kind: str) -> None:
    """An export does not depend on the folder, the clock, or what an earlier one left there."""
    home = published(tmp_path / "home")
    for to in ("one", "two", "one"):
        assert main(["export", kind, "--to", str(tmp_path / to), "--home", home]) == 0
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_the_card_is_what_the_hub_reads(tmp_path: Path) -> None:
    """Front matter names a config per table that has rows, fingerprints the default, each with a file that is there."""
    home = published(tmp_path)
    assert main(["export", "hf", "--to", str(tmp_path / "set"), "--home", home]) == 0
    text = (tmp_path / "set" / "README.md").read_text()
    front = yaml.safe_load(text.split("---\n")[1])
    assert [c["config_name"] for c in front["configs"] if c.get("default")] == ["fingerprints"]
    for each in front["configs"]:
        assert rows_of(tmp_path / "set" / each["data_files"])
    assert "snapshot 2026-11-29" in text
    assert (tmp_path / "set" / "data_dictionary.md").read_text().count("| `params_total` |") == 2


def test_a_dataset_can_be_attached_cited_and_read_by_itself(tmp_path: Path) -> None:
    """The snapshot's own bytes, a citation with its date and digest, and metadata of every file that say the same."""
    home = published(tmp_path)
    assert main(["export", "hf", "--to", str(tmp_path / "set"), "--home", home]) == 0
    path = tmp_path / "snapshots" / "2026-11-29.duckdb"
    assert (tmp_path / "set" / "atlas.duckdb").read_bytes() == path.read_bytes()
    cff = yaml.safe_load((tmp_path / "set" / "CITATION.cff").read_text())
    digest = cff["identifiers"][0]["value"]
    assert (cff["version"], str(cff["date-released"])) == ("2026-11-29", "2026-11-29")
    assert digest in (tmp_path / "set" / "README.md").read_text()
    for each in ("models", "evidence", "fingerprints"):
        query = "SELECT key, value FROM parquet_kv_metadata(?)"
        told = dict(duckdb.execute(query, [str(tmp_path / "set" / "data" / f"{each}.parquet")]).fetchall())
        assert f"sha256:{told[b'content_digest'].decode()}" == digest
        assert "repo_id" in json.loads(told[b"columns"])


def test_a_dataset_holds_no_maps(tmp_path: Path) -> None:
    """The datasets library has no type for maps: they are lists of key and value there."""
    home = published(tmp_path)
    assert main(["export", "hf", "--to", str(tmp_path / "set"), "--home", home]) == 0
    for path in (tmp_path / "set" / "data").iterdir():
        described = duckdb.execute("DESCRIBE FROM read_parquet(?)", [str(path)]).fetchall()
        assert not [column for column, kind, *_ in described if "MAP" in kind]


def test_a_hostile_source_is_text_in_the_card(tmp_path: Path) -> None:
    """The name of a folder that was the source adds no link, image, HTML or template to the card."""
    home = published(tmp_path, source="a](javascript:1) <img src=x> {{ 7*7 }} | `b")
    assert main(["export", "hf", "--to", str(tmp_path / "set"), "--home", home]) == 0
    body = (tmp_path / "set" / "README.md").read_text().split("---\n", 2)[2]
    inner = [c for t in MarkdownIt().enable("table").parse(body) for c in t.children or ()]
    assert [c.attrs["href"] for c in inner if c.type == "link_open"] == ["data_dictionary.md"]
    assert not [c for c in inner if c.type in {"image", "html_inline"}]


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A README of somebody else's, or any other file, ends the command with 2 before anything is written."""
    home = published(tmp_path / "home")
    mine = tmp_path / "mine"
    for name in ("README.md", "thesis.tex"):
        mine.mkdir(exist_ok=True)
        (mine / name).write_text("years of work")
        before = digests(mine)
        for kind in ("hf", "parquet"):
            assert main(["export", kind, "--to", str(mine), "--home", home]) == 2
            assert name in capsys.readouterr().err or kind == "parquet"
        assert digests(mine) == before
        (mine / name).unlink()


def test_no_snapshot_ends_with_8_and_damage_with_6(tmp_path: Path) -> None:
    """Nothing is exported from a home without a snapshot, or from a damaged one."""
    assert main(["export", "parquet", "--home", str(tmp_path)]) == 8
    home = published(tmp_path)
    path = tmp_path / "snapshots" / "2026-11-29.duckdb"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["export", "hf", "--home", home]) == 6
    assert not (tmp_path / "exports").exists()


class Receiver(BaseHTTPRequestHandler):
    """What the Hub answers while a dataset is committed; it keeps what was sent on the server object."""

    server: Any

    def do_POST(self) -> None:
        """Take a new repository, the announcement of files, or a commit."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        if self.path.endswith("/preupload/main"):
            answer: Any = {
                "files": [
                    {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False}
                    for f in json.loads(body)["files"]
                ]
            }
        elif self.path == "/api/repos/create":
            answer = {"url": f"{self.server.endpoint}/datasets/me/atlas", "name": "me/atlas", "id": "1"}
        else:
            answer = {"commitUrl": f"{self.server.endpoint}/datasets/me/atlas/commit/1", "commitOid": "1"}
        data = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[Any]:
    """A loopback Hub that takes commits."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.asked, server.status = [], 200
    server.endpoint = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_upload_commits_exactly_the_folder(
    tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --upload the folder is committed to a private dataset; the token is in no file and no output."""
    monkeypatch.setenv("HF_TOKEN", CANARY)
    home, to = published(tmp_path / "home"), tmp_path / "set"
    arguments = ("--to", str(to), "--home", home, "--endpoint", hub.endpoint)
    assert main(["export", "hf", "--upload", "me/atlas", *arguments]) == 0
    made = json.loads(next(body for path, _, body in hub.asked if path == "/api/repos/create"))
    assert (made["type"], made["visibility"]) == ("dataset", "private")
    commit = next(body for path, _, body in hub.asked if "/commit/" in path)
    sent = [json.loads(line)["value"] for line in commit.splitlines() if json.loads(line)["key"] == "file"]
    files = {f["path"]: hashlib.sha256(base64.b64decode(f["content"])).hexdigest() for f in sent}
    assert files == digests(to)
    ((tag, _, about),) = [one for one in hub.asked if "/tag/" in one[0]]
    assert (tag, json.loads(about)["tag"]) == ("/api/datasets/me/atlas/tag/1", "2026-11-29")
    said = "".join(capsys.readouterr())
    assert "/commit/1" in said
    assert CANARY not in said
    assert not [p for p in to.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


def test_nothing_leaves_without_upload(tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --upload no request is made, whatever token there is."""
    monkeypatch.setenv("HF_TOKEN", CANARY)
    home = published(tmp_path)
    assert main(["export", "hf", "--home", home, "--endpoint", hub.endpoint]) == 0
    assert hub.asked == []


def test_private_repositories_are_not_uploaded(
    tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A snapshot that lists private repositories is exported, and its upload refused with 3 before any request."""
    monkeypatch.setenv("HF_TOKEN", CANARY)
    home = published(tmp_path, private=True)
    assert main(["export", "hf", "--upload", "me/atlas", "--home", home, "--endpoint", hub.endpoint]) == 3
    assert "private repositories" in capsys.readouterr().err
    assert hub.asked == []


def test_an_upload_that_fails_is_a_sentence(
    tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a token or with a bad name 2; where the Hub refuses or is not there 4; the token is never shown."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    home = published(tmp_path / "home")
    upload = ["export", "hf", "--home", home, "--endpoint", hub.endpoint, "--upload"]
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("pipeline.hub.login.token", lambda: None)
    assert main([*upload, "me/atlas"]) == 2
    monkeypatch.setattr("pipeline.hub.login.token", lambda: CANARY)
    assert main([*upload, "not/a/name"]) == 2
    hub.status = 403
    assert main([*upload, "me/atlas", "--debug"]) == 4
    assert main([*upload[:-2], "http://127.0.0.1:9", "--upload", "me/atlas"]) == 4
    said = "".join(capsys.readouterr())
    assert CANARY not in said
