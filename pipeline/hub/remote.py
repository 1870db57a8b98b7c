"""A checkpoint on the Hub: its config, and its headers by range request, on huggingface_hub's own session.

Every answer is read up to a cap and no further, also where a server ignores the range. Everything is asked at one
commit.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import msgspec
import stamina

from atlas.parse import MAX_BYTES
from atlas.stored.settings import FILES
from pipeline import PROJECT, __version__
from pipeline.errors import AtlasError, Invalid, NotFound, Upstream
from pipeline.sources import beside, headers

if TYPE_CHECKING:
    import httpx2

# Without a handler the library's warnings of every retry would go to the terminal.
logging.getLogger("stamina").addHandler(logging.NullHandler())

FIRST = 100_000
"""Bytes of the first request to a file: most headers are shorter."""
WORKERS = 8
MOST_FILES = 2_000
INFO_BYTES = 16 * headers.MIB
HUB = "https://huggingface.co"
SILENCE = 20.0
"""Seconds without a byte before a try is given up."""
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")


class Again(Exception):
    """Trying again may help."""


class Checkpoint(NamedTuple):
    """What is needed of one repository: the commit, the config as published, and the headers."""

    repo_id: str
    revision: str
    config: bytes
    headers: headers.Headers
    settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


class _Sibling(msgspec.Struct):
    rfilename: str


class _Info(msgspec.Struct):
    id: str
    sha: str
    siblings: list[_Sibling] = []


def checkpoint(repo_id: str, endpoint: str | None = None, revision: str = "main") -> Checkpoint:
    """Config and headers of a repository; raises `NotFound`, `Invalid` or `Upstream`."""
    if not _REPO.fullmatch(repo_id):
        raise NotFound(f"{repo_id!r} is neither a path here nor the name of a repository (owner/name)")
    root = (endpoint or os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    info = _info(root, repo_id, revision)
    names = [s.rfilename for s in info.siblings]
    if "config.json" not in names:
        raise NotFound(f"{repo_id} has no config.json, so there is nothing to derive its weights from")
    files = f"{root}/{quote(info.id)}/resolve/{info.sha}"
    config = get(f"{files}/config.json", MAX_BYTES + 1)
    return Checkpoint(info.id, info.sha, config, _headers(files, repo_id, names), _settings(files, names))


def _settings(files: str, names: list[str]) -> dict[str, Mapping[str, Any]]:
    """The settings files that the listing names; none is asked for blindly."""
    return {n: beside.settings(get(f"{files}/{n}", MAX_BYTES + 1), n) for n in FILES if n in names}


def _info(root: str, repo_id: str, revision: str) -> _Info:
    raw = get(f"{root}/api/models/{quote(repo_id)}/revision/{quote(revision, safe='')}", INFO_BYTES)
    try:
        return msgspec.json.decode(raw, type=_Info)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise Upstream(f"{root} gave no answer that can be read for {repo_id}: {error}") from error


def _headers(files: str, repo_id: str, names: list[str]) -> headers.Headers:
    shards = headers.weights(names)
    if len(shards) > MOST_FILES:
        raise Invalid(f"{repo_id} has {len(shards)} safetensors files; more than {MOST_FILES} are not read")
    if shards:
        with ThreadPoolExecutor(WORKERS) as pool:
            found = pool.map(lambda name: header(f"{files}/{quote(name)}", name), shards)
            return headers.together(dict(zip(shards, found, strict=True)))
    listed = next((n for n in headers.INDEXES if n in names), None)
    if listed is None:
        raise NotFound(f"{repo_id} has no safetensors file and no index of one")
    return headers.named(headers.index(get(f"{files}/{listed}", headers.LONGEST_INDEX + 1), listed), listed)


def header(url: str, name: str) -> dict[str, headers.Stored]:
    """The tensors of one file: one request, a second where its header is longer.

    Raises what `get` and `headers.parsed` raise.
    """
    start = get(url, FIRST, ranged=True)
    n = headers.length(start, name)
    body = start[8 : 8 + n]
    if len(body) < n:
        body = get(url, 8 + n, ranged=True)[8:]
    if len(body) < n:
        raise Invalid(f"{name} ends inside its header: it was cut short")
    return headers.parsed(body, name)


def get(url: str, most: int, *, ranged: bool = False) -> bytes:
    """At most the first `most` bytes of an answer; tried five times. Raises `NotFound` or `Upstream`."""
    try:
        for attempt in stamina.retry_context(on=Again, attempts=5, timeout=90.0, wait_initial=0.2, wait_max=5.0):
            with attempt:
                return _once(url, most, ranged=ranged)
    except Again as error:
        raise Upstream(
            f"{url} cannot be had ({error}); run the command again later, or check the network or --endpoint"
        ) from error
    raise AssertionError


def _once(url: str, most: int, *, ranged: bool) -> bytes:
    import httpx2
    from huggingface_hub import get_session
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import build_hf_headers

    asked = build_hf_headers(library_name=PROJECT, library_version=__version__) | {"Accept-Encoding": "identity"}
    asked |= {"Range": f"bytes=0-{most - 1}"} if ranged else {}
    try:
        with get_session().stream("GET", url, headers=asked, timeout=SILENCE, follow_redirects=True) as response:
            _judge(response, url)
            return _upto(response, most)
    except OfflineModeIsEnabled as error:
        raise Upstream("huggingface_hub is set offline (HF_HUB_OFFLINE): unset it, or give a path") from error
    except httpx2.HTTPError as error:
        raise Again(type(error).__name__) from error


def _upto(response: httpx2.Response, most: int) -> bytes:
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) >= most:
            break
    return bytes(body[:most])


def _judge(response: httpx2.Response, url: str) -> None:
    """Raise what a status means."""
    status = response.status_code
    if status in (200, 206):
        return
    if status in (408, 425, 429) or status >= 500:
        raise Again(f"status {status}")
    raise _refusal(status, response.headers, url)


def _refusal(status: int, told: Mapping[str, Any], url: str) -> AtlasError:
    code = told.get("x-error-code", "")
    if code == "GatedRepo" or status == 403:
        return NotFound(f"{url}: access was not granted; ask for it on the Hub and log in (hf auth login)")
    if status in (401, 404, 410):
        return NotFound(f"{url}: there is no such repository or file, or it is not public")
    return Upstream(f"{url}: an answer of status {status}")
