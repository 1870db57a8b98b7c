"""The Hub's listing: which repositories there are, and what the Hub itself says of them, before any config is read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urljoin

import orjson

from pipeline.errors import NotFound, Upstream, Usage
from pipeline.hub.entry import Entry, entry_of, is_repo_id
from pipeline.hub.limits import Answer, BudgetSpent, GaveUp, Refused, Transient
from pipeline.hub.session import Hub, origin
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

EXPAND = (
    "author",
    "cardData",
    "config",
    "createdAt",
    "disabled",
    "downloads",
    "gated",
    "gguf",
    "lastModified",
    "library_name",
    "likes",
    "pipeline_tag",
    "private",
    "safetensors",
    "sha",
    "siblings",
    "tags",
)
PAGE = 1000
EMPTY_PAGES = 3
"""Empty pages in a row, each promising a next one, after which the listing is not believed."""


@dataclass(frozen=True)
class Selection:
    """Which repositories a crawl is about. `ids` (from a list file) excludes the rest; `top` is by downloads."""

    task: str | None = "text-generation"
    author: str | None = None
    top: int | None = None
    ids: tuple[str, ...] | None = None

    @property
    def whole(self) -> bool:
        """Whether a repository that is not listed is gone, and not merely less popular."""
        return self.top is None and self.ids is None

    def key(self, endpoint: str) -> str:
        """A text equal for crawls whose listings can be held against each other."""
        ids = None if self.ids is None else sorted(set(self.ids))
        return orjson.dumps([endpoint, self.task, self.author, self.top, ids]).decode()


def read_list(path: Path) -> tuple[str, ...]:
    """The repository ids of a list file: one a line, with empty lines and lines that begin with # left out.

    Raises:
        NotFound: there is no such file.
        Usage: it is no text, or names no repository.
    """
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError as error:
        raise NotFound(f"there is no list file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{path} cannot be read as a list of repository ids") from error
    ids = tuple(line for line in lines if line and not line.startswith("#"))
    if not ids:
        raise Usage(f"{path} names no repository: write one id (owner/name) a line")
    return ids


@dataclass
class Anomalies:
    """What was odd about a listing and was put up with."""

    duplicates: int = 0
    empty_pages: int = 0
    unreadable_entries: int = 0
    renamed: dict[str, str] = field(default_factory=dict)


async def entries(hub: Hub, selection: Selection, anomalies: Anomalies) -> AsyncIterator[list[Entry]]:
    """The selected repositories, a page at a time, each repository once.

    Raises:
        Upstream: the listing cannot be had whole: no answer, another origin, a repeated cursor, too many pages.
    """
    seen: set[str] = set()
    pages = _pages(hub, selection, anomalies) if selection.ids is None else _one_by_one(hub, selection.ids, anomalies)
    async for page in pages:
        fresh: dict[str, Entry] = {}
        for entry in page:
            if entry.repo_id in seen:
                anomalies.duplicates += 1
                continue
            if selection.top is not None and len(seen) >= selection.top:
                break
            seen.add(entry.repo_id)
            fresh[entry.repo_id] = entry
        yield list(fresh.values())
        if selection.top is not None and len(seen) >= selection.top:
            return


async def _pages(hub: Hub, selection: Selection, anomalies: Anomalies) -> AsyncIterator[list[Entry]]:
    url: str | None = _first_page(hub, selection)
    visited: set[str] = set()
    empty = 0
    while url is not None:
        if url in visited or len(visited) >= hub.limits.pages:
            why = "gave the same page cursor twice" if url in visited else f"has more than {hub.limits.pages} pages"
            raise Upstream(f"the Hub's listing {why}, so it cannot be read whole; run again later")
        visited.add(url)
        page, following = await _page(hub, url)
        url = _next(hub, url, following)
        empty = 0 if page else empty + 1
        anomalies.empty_pages += bool(not page and url)
        if empty >= EMPTY_PAGES and url is not None:
            raise Upstream(f"the Hub's listing gave {empty} empty pages in a row and promises more; run again later")
        yield _entries(page, hub, anomalies)


def _first_page(hub: Hub, selection: Selection) -> str:
    asked: dict[str, Any] = {"sort": "downloads", "limit": min(PAGE, selection.top or PAGE), "expand": EXPAND}
    asked |= {"pipeline_tag": selection.task} if selection.task else {}
    asked |= {"author": selection.author} if selection.author else {}
    return f"{hub.endpoint}/api/models?{urlencode(asked, doseq=True)}"


async def _page(hub: Hub, url: str) -> tuple[list[Any], str | None]:
    try:
        return await hub.get(url, kind="api", cap=hub.limits.page_bytes, read=_read_page)
    except (GaveUp, Refused) as error:
        raise Upstream(f"the Hub's listing cannot be read: {error}; run again later to go on") from error
    except BudgetSpent as error:
        raise Upstream("the budget of requests ended within the listing; raise --budget and run again") from error


def _read_page(answer: Answer) -> tuple[list[Any], str | None]:
    if answer.status != 200:
        raise Refused(f"status {answer.status} from {answer.url.partition('?')[0]}")
    page = read_json(answer.body)
    if not isinstance(page, list):
        raise Transient("a listing page that is not a JSON list")
    links = re.findall(r'<([^<>]*)>\s*;[^,]*?\brel="?next"?', answer.headers.get("link", ""))
    return page, links[0] if links else None


def read_json(body: bytes) -> Any:
    """JSON as the Hub sends it. The standard reader takes what orjson refuses, such as lone surrogates.

    Raises:
        Transient: it is no JSON: a login page, say, or an answer cut short.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Transient("an answer that is not JSON") from error


def _next(hub: Hub, url: str, following: str | None) -> str | None:
    if following is None:
        return None
    try:
        target = urljoin(url, following)
        if origin(target) == origin(hub.endpoint):
            return target
    except ValueError:
        pass
    raise Upstream("the Hub's listing goes on at another address, which was not followed; check --endpoint")


def _entries(page: Iterable[Any], hub: Hub, anomalies: Anomalies) -> list[Entry]:
    read = [entry_of(item, authenticated=hub.authenticated) for item in page]
    anomalies.unreadable_entries += read.count(None)
    return [entry for entry in read if entry is not None]


async def _one_by_one(hub: Hub, ids: tuple[str, ...], anomalies: Anomalies) -> AsyncIterator[list[Entry]]:
    for repo_id in dict.fromkeys(ids):
        if not is_repo_id(repo_id):
            raise Usage(f"{repo_id!r} in the list is not a repository id (owner/name)")
        entry = await look_up(hub, repo_id)
        if entry.repo_id != repo_id:
            anomalies.renamed[repo_id] = entry.repo_id
        yield [entry]


async def look_up(hub: Hub, repo_id: str) -> Entry:
    """What the Hub says of one repository; under its new id where it was renamed. A missing one is an entry too.

    Raises:
        Upstream: no answer, or an answer that is none.
    """
    asked = urlencode({"expand": EXPAND}, doseq=True)
    url = f"{hub.endpoint}/api/models/{quote(repo_id)}?{asked}"

    def read(answer: Answer) -> Entry:
        if answer.status in {401, 403, 404, 410}:
            return Entry(repo_id, None, {}, "", Outcome.MISSING, "the Hub knows no such public repository")
        item = read_json(answer.body) if answer.status == 200 else None
        entry = entry_of(item, authenticated=hub.authenticated)
        if entry is None:
            raise Transient(f"an answer about a repository that cannot be read (status {answer.status})")
        return entry

    try:
        return await hub.get(url, kind="api", cap=hub.limits.page_bytes, read=read)
    except (GaveUp, Refused) as error:
        raise Upstream(f"the Hub does not answer about a repository: {error}; run again later to go on") from error
    except BudgetSpent as error:
        raise Upstream("the budget of requests ended within the listing; raise --budget and run again") from error
