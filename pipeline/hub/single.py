"""One config by its repository's name: first what is kept on this disk, then one question and one file of the Hub.

What huggingface_hub's cache holds is read as it lies, without the library. What the Hub gives is kept in the archive of
the home like a crawl's, and nothing is published.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from atlas.parse import MAX_BYTES
from pipeline.errors import AtlasError, NotFound, Upstream
from pipeline.hub.archive import Archive
from pipeline.hub.attempts import Attempt, Job
from pipeline.hub.fetch import fetch
from pipeline.hub.limits import Answer, GaveUp, Limits, Refused
from pipeline.hub.session import Hub
from schemas.vocabulary import Outcome

HUB = "https://huggingface.co"
BRIEF = Limits(deadline=30.0, attempt=15.0, silence=10.0, contact=3.0, longest_wait=20.0, refusals=1)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST = 2**22


class One(NamedTuple):
    """A config as published at one commit, and where it was had."""

    repo_id: str
    revision: str
    raw: bytes
    source: str
    folder: Path | None = None


class Kept(NamedTuple):
    """A repository's folder in the cache, at one commit."""

    repo_id: str
    revision: str
    source: str
    path: Path


def cache_folder() -> Path:
    """Where huggingface_hub keeps its files, by the variables that it reads."""
    env = os.environ
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            return Path(env[name]).expanduser()
    base = env.get("HF_HOME") or str(Path(env.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(base).expanduser() / "hub"


def cached(repo_id: str, revision: str | None) -> One | None:
    """What the cache on disk holds of a repository: a commit, or what a branch was when it was last fetched."""
    kept = cached_folder(repo_id, revision)
    if kept is None:
        return None
    try:
        with (kept.path / "config.json").open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return One(kept.repo_id, kept.revision, raw, kept.source, kept.path)


def cached_folder(repo_id: str, revision: str | None) -> Kept | None:
    """The folder of a repository at a revision in the cache on disk, whatever it holds."""
    found = _cached_folder(repo_id)
    commit = None if found is None else _commit(found, revision or "main")
    if found is None or commit is None:
        return None
    return Kept(_name(found), commit, f"huggingface_hub's cache at {commit[:8]}", found / "snapshots" / commit)


def _cached_folder(repo_id: str) -> Path | None:
    """The repository's folder in the cache; names differ in case as they do on the Hub."""
    wanted = f"models--{repo_id.replace('/', '--')}"
    place = cache_folder()
    if (place / wanted).is_dir():
        return place / wanted
    try:
        return next((p for p in sorted(place.iterdir()) if p.name.casefold() == wanted.casefold()), None)
    except OSError:
        return None


def _name(folder: Path) -> str:
    return folder.name.removeprefix("models--").replace("--", "/", 1)


def _commit(folder: Path, revision: str) -> str | None:
    """The commit of a revision: a whole or short digest, or the branch's own as the cache noted it."""
    try:
        held = [p.name for p in (folder / "snapshots").iterdir()]
        short = [h for h in held if re.fullmatch(r"[0-9a-f]{7,40}", revision) and h.startswith(revision)]
        if len(short) == 1:
            return short[0]
        note = folder / "refs" / revision
        inside = ".." not in Path(revision).parts and not Path(revision).is_absolute()
        commit = note.read_text("utf-8").strip() if inside and note.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return None
    return commit if commit in held else None


def archived(home: Path, repo_id: str, revision: str | None) -> One | None:
    """The last good config of a repository in the archive of the home, at the commit asked for where one is."""
    file = home / "archive" / "hub.sqlite"
    if not file.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file.resolve()))}?mode=ro", uri=True)) as connection:
            row = connection.execute(
                "SELECT a.repo_id, a.revision, b.raw, a.day FROM attempts a JOIN blobs b USING (digest)"
                " WHERE lower(a.repo_id) = lower(?) AND (? IS NULL OR a.revision = ?) ORDER BY a.attempt DESC LIMIT 1",
                (repo_id, revision, revision),
            ).fetchone()
    except sqlite3.Error:
        return None
    if row is None:
        return None
    return One(row[0], row[1], row[2], f"the archive, as of {row[3]} at {row[1][:8]}")


def online(home: Path, repo_id: str, revision: str | None, endpoint: str | None, token: str | None) -> One:
    """The config as the Hub has it now, kept in the archive. Raises `NotFound` or `Upstream`."""
    address = (endpoint or os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    job, attempt = asyncio.run(_asked(home, address, repo_id, revision or "main", token))
    if attempt.raw is None:
        raise NotFound(f"{job.repo_id} on the Hub: {attempt.detail or attempt.outcome.value}")
    return One(job.repo_id, job.revision, attempt.raw, f"the Hub at {job.revision[:8]}")


class _Info(msgspec.Struct):
    id: str
    sha: str
    gated: bool | str = False
    private: bool = False


async def _asked(home: Path, endpoint: str, repo_id: str, revision: str, token: str | None) -> tuple[Job, Attempt]:
    url = f"{endpoint}/api/models/{quote(repo_id)}/revision/{quote(revision, safe='')}"
    async with Hub(endpoint, token=token, limits=BRIEF) as hub:
        try:
            info = await hub.get(url, kind="api", cap=_MOST, read=lambda a: _info(a, repo_id, revision))
            job = Job(info.id, info.sha, "gated" if info.gated else "open")
            known = archived(home, info.id, info.sha)
            if known is not None:
                return job, Attempt(job, Outcome.OK, known.raw, None)
            attempt = await fetch(hub, job)
        except (GaveUp, Refused) as error:
            raise Upstream(f"{endpoint} gave no answer for {repo_id}: {error}; try again later") from error
    _keep(home, attempt)
    return job, attempt


def _info(answer: Answer, repo_id: str, revision: str) -> _Info:
    if answer.status in (401, 403, 404, 410):
        at = "" if revision == "main" else f" at {revision}"
        raise NotFound(f"the Hub has no public repository {repo_id}{at}, or access to it was not granted")
    if answer.status != 200:
        raise Upstream(f"the Hub answered for {repo_id} with status {answer.status}; try again later")
    try:
        found = msgspec.json.decode(answer.body, type=_Info)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise Upstream(f"the Hub gave no answer that can be read for {repo_id}: {error}") from error
    if not _COMMIT.fullmatch(found.sha):
        raise Upstream(f"the Hub gave no commit for {repo_id}")
    return found


def _keep(home: Path, attempt: Attempt) -> None:
    """Keep what came, where this home has an archive's place and nobody else is writing in it."""
    if attempt.outcome is not Outcome.OK:
        return
    today = datetime.now(UTC).date().isoformat()
    try:
        with Archive(home) as archive:
            archive.record(archive.begin("single", day=today), [attempt])
    except (AtlasError, OSError):
        return  # a crawl holds it, or the place cannot be written: the answer stands without
