"""One simulated day: the steps of a refresh, without what costs and does not matter for what outages do.

Left out are the catalogue's models, the guide, and, but in `judged_in_full`, the judgement of a finished file. An
empty file is copied where each day would create twenty tables anew.
"""

from __future__ import annotations

import datetime as dt
import functools
import multiprocessing
import os
import resource
import shutil
import signal
import ssl
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import httpx2
import huggingface_hub.utils
import pandera.polars
from crawling import FAST
from hub_server import HubServer

from pipeline import durable
from pipeline.errors import AtlasError
from pipeline.guide import render
from pipeline.hub import crawl
from pipeline.refresh import holding, records, reporting, steps, tables
from pipeline.store import build, snapshot
from pipeline.store.validate import Judged
from schemas.tables import quoted

if TYPE_CHECKING:
    import pytest

# What a child of a day would import by itself, at half a second each time.
_LOADED = (duckdb, httpx2, huggingface_hub.utils.build_hf_headers, pandera.polars, render, tables)
CANARY = "hf_canary9canary9canary9canary9"
QUICK = replace(FAST, deadline=0.4, attempt=0.3, silence=0.25, contact=0.5, longest_wait=0.05, refusals=2, workers=4)
PATIENT = replace(QUICK, deadline=60.0, attempt=20.0, silence=20.0, contact=20.0)
"""For days without a fault, however busy the machine."""
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["crawling", "years_made"])
_full = False
_limits, _today = crawl.Limits, steps.today
_judge, _write, _define = snapshot._judge, build.write, build._define


@contextmanager
def judged_in_full() -> Iterator[None]:
    """Files are judged by every rule."""
    global _full  # noqa: PLW0603 - one simulation at a time in a process
    _full = True
    try:
        yield
    finally:
        _full = False


@functools.cache
def _empty() -> Path:
    """A file with every table, view and macro, and no row."""
    path = Path(tempfile.mkdtemp(prefix="years-")) / "empty.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH {quoted(str(path))} AS f (STORAGE_VERSION '{build.STORAGE_VERSION}')")
        con.execute("USE f")
        _define(con)
        con.execute("CHECKPOINT f")
        con.execute("USE memory")
        con.execute("DETACH f")
    return path


def _written(path: Path, *rest: Any) -> dict[str, tuple[int, int]]:
    shutil.copyfile(_empty(), path)
    return _write(path, *rest)


def _lightly(temporary: Path, judged: Judged, sums: Mapping[str, tuple[int, int]]) -> None:
    """Only where it is asked for."""
    if _full:
        _judge(temporary, judged, sums)


class _Patches:
    """Sets attributes for good, in a process that lives one day."""

    def setattr(self, of: Any, name: str, value: Any) -> None:
        """As a monkeypatch does."""
        setattr(of, name, value)


def cheapen(monkeypatch: pytest.MonkeyPatch | _Patches, empty: Path | None = None) -> None:
    """Leave out what costs; `empty` is a file that another process made."""
    if empty:
        monkeypatch.setattr(sys.modules[__name__], "_empty", lambda: empty)
    monkeypatch.setattr(build, "write", _written)
    monkeypatch.setattr(build, "_define", lambda con: None)
    monkeypatch.setattr(snapshot, "_judge", _lightly)
    monkeypatch.setattr(steps, "from_catalogue", list)
    monkeypatch.setattr(steps, "reported", lambda _home: {})
    monkeypatch.setattr(holding, "of_catalogue", dict)
    monkeypatch.setattr(reporting, "build_guide", lambda home, path: ([], {}))
    monkeypatch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))


def refreshed(
    home: Path, hub: HubServer | str, day: dt.date, *, allow_shrink: bool = False, ill: str | None = None,
    is_ill: bool = False,
) -> str:  # fmt: skip
    """One refresh on a day; how it ended in a word. `ill` is where the disk fails, `is_ill` says so of a Hub."""
    endpoint = hub if isinstance(hub, str) else hub.endpoint
    options = records.Options(home, records.HUB, endpoint=endpoint, token=CANARY, allow_shrink=allow_shrink)
    faulty = is_ill if isinstance(hub, str) else hub.is_ill
    crawl.Limits, steps.today = (lambda: QUICK if faulty else PATIENT), lambda _: day  # pyright: ignore[reportAttributeAccessIssue]
    durable._passages.clear()
    if ill:
        os.environ["ATLAS_FAILPOINT"] = ill
    try:
        return "published" if steps.refresh(options).is_new else "nothing new"
    finally:
        crawl.Limits, steps.today = _limits, _today
        os.environ.pop("ATLAS_FAILPOINT", None)


def _child(home: Path, endpoint: str, day: dt.date, failpoint: str | None, empty: Path, is_ill: bool) -> None:  # noqa: FBT001
    cheapen(_Patches(), empty)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    refreshed(home, endpoint, day, ill=failpoint, is_ill=is_ill)


def refreshed_elsewhere(
    home: Path, hub: HubServer, day: dt.date, failpoint: str | None = None, *, seconds: float = 60.0
) -> bool:
    """One refresh in a process that is killed, at a point or after so many seconds; whether it was."""
    process = CHILDREN.Process(target=_child, args=(home, hub.endpoint, day, failpoint, _empty(), hub.is_ill))
    process.start()
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode == -9


def _on_a_small_disk(home: Path, endpoint: str, day: dt.date, size: int, empty: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    cheapen(_Patches(), empty)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        refreshed(home, endpoint, day)
    except AtlasError as error:
        os.write(2, f"{error}\n".encode())
        os._exit(77 if "cannot" in str(error) else 1)


def refreshed_on_a_small_disk(home: Path, hub: HubServer, day: dt.date, size: int) -> None:
    """One refresh in a process whose files may not grow beyond so many bytes: it ends with a sentence about that."""
    process = CHILDREN.Process(target=_on_a_small_disk, args=(home, hub.endpoint, day, size, _empty()))
    process.start()
    process.join(120)
    assert process.exitcode == 77, process.exitcode
