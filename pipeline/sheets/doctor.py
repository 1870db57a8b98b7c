"""What works here: the Hub, the token, its quotas, the disk, the snapshots, the libraries. No token is shown."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec

import pipeline
from pipeline.errors import AtlasError, Upstream, Usage
from pipeline.hub.reach import Reach, reach
from pipeline.store import shelf

HUB = "https://huggingface.co"
LIBRARIES = ("duckdb", "polars", "huggingface_hub", "prefect", "pandera", "msgspec", "orjson", "altair", "typer")
EXTRAS = {"dask": "prefect-dask", "measure": "torch"}
LITTLE_DISK = 2 * 1024**3
"""Bytes below which a crawl of the whole Hub may not fit."""
OFFLINE = (
    "Without the Hub these work: 'atlas refresh --source catalogue' (or a folder of configs), inspect, and, once there "
    "is a snapshot, show, compare, sql, snapshots, diff, guide, export; verify reads files of a folder."
)

State = Literal["ok", "note", "bad"]


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at. `state`: ok, note (works, with a limit), bad; `next` says what to do about it."""

    subject: str
    state: State
    says: str
    next: str | None = None


class Health(msgspec.Struct, frozen=True):
    """Everything looked at. `hub` is whether a refresh from the Hub can work now."""

    hub: bool
    findings: list[Finding]

    @property
    def usable(self) -> bool:
        """Whether nothing is bad."""
        return all(f.state != "bad" for f in self.findings)


def examine(home: Path, endpoint: str | None, token: str | None) -> Health:
    """Look at everything; the Hub gets one request, two where it does not take the token.

    Raises:
        Usage: the endpoint is no address.
    """
    asked = endpoint or HUB
    hub = list(_hub(asked, token))
    others = [*_places(home), *_snapshots(home), *_libraries()]
    return Health(all(f.state != "bad" for f in hub), [*hub, *others])


def _hub(endpoint: str, token: str | None) -> Iterator[Finding]:
    told = _reached(endpoint, token)
    anonymous = _reached(endpoint, None) if token and not isinstance(told, Reach) else told
    if isinstance(anonymous, Reach):
        yield Finding("hub", "ok", f"{endpoint} answers in {anonymous.seconds:.1f} s")
        yield _token(told, has_token=token is not None)
        yield _quota(told if isinstance(told, Reach) else anonymous)
        return
    if isinstance(anonymous, Usage):
        raise anonymous
    yield Finding("hub", "bad", str(anonymous), OFFLINE)
    yield Finding("token", "note", "there is one, not tried" if token else "none: gated models cannot be read")


def _reached(endpoint: str, token: str | None) -> Reach | AtlasError:
    try:
        return reach(endpoint, token=token)
    except (Upstream, Usage) as error:
        return error


def _token(told: Reach | AtlasError, *, has_token: bool) -> Finding:
    if not has_token:
        return Finding(
            "token", "note", "none: half the quota, and no gated models", "set HF_TOKEN or run 'hf auth login'"
        )
    if isinstance(told, Reach):
        return Finding("token", "ok", "there is one, and the Hub takes it")
    return Finding("token", "bad", str(told))


def _quota(told: Reach) -> Finding:
    said = [f"{n:,} {policy} requests left for {seconds:.0f} s" for policy, (n, seconds) in sorted(told.quotas.items())]
    is_spent = any(n == 0 for n, _ in told.quotas.values())
    return Finding("quota", "note" if is_spent else "ok", "; ".join(said) or "the Hub names none")


def _places(home: Path) -> Iterator[Finding]:
    where = home.absolute()
    while not where.exists():
        where = where.parent
    try:
        with tempfile.TemporaryFile(dir=where):
            yield Finding("home", "ok", f"{home.absolute()} can be written")
    except OSError as error:
        yield Finding(
            "home", "bad", f"{home.absolute()} cannot be written: {error.strerror}", "name another place with --home"
        )
    free = shutil.disk_usage(where).free
    state: State = "ok" if free >= LITTLE_DISK else "note"
    yield Finding(
        "disk",
        state,
        f"{free / 1024**3:.1f} GiB free",
        None if state == "ok" else "a crawl of the whole Hub may not fit",
    )


def _snapshots(home: Path) -> Iterator[Finding]:
    """The index and the latest file's bytes; proving every row is `snapshots verify`, which takes longer."""
    try:
        index = shelf.read(shelf.folder(home))
        if index.latest is None:
            yield Finding("snapshots", "note", "none yet", "run 'atlas refresh --source catalogue'")
            return
        entry, _ = shelf.locate(home)
        yield Finding(
            "snapshots", "ok", f"latest of {len(index.snapshots)} is {entry.id}, its {entry.bytes:,} bytes as published"
        )
    except AtlasError as error:
        yield Finding("snapshots", "bad", str(error), "'atlas snapshots verify' examines all of them")


def _libraries() -> Iterator[Finding]:
    found = {name: _version(name) for name in LIBRARIES}
    missing = [name for name, version in found.items() if version is None]
    versions = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    if missing:
        yield Finding("libraries", "bad", f"not installed: {', '.join(missing)}", "install the package again")
    yield Finding("versions", "ok", f"atlas {pipeline.__version__}, Python {platform.python_version()}, {versions}")
    extras = ", ".join(
        f"{extra} {'installed' if _version(name) else 'not installed'}" for extra, name in EXTRAS.items()
    )
    yield Finding("extras", "ok", extras)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
