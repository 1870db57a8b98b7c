"""A Hub on the loopback: the part of the Hugging Face API that huggingface_hub uses, over real sockets.

    with HubServer(Population(10_000)) as hub:
        hub.population.change(7)                              # a new commit in the eighth repository
        hub.fail(r"/resolve/", Reply(503), times=3)           # the next three answers under that pattern
        crawl(endpoint=hub.endpoint)
        hub.requests                                          # what was asked, with which authorization

Populations are deterministic and made on demand, so that a million repositories cost nothing until they are asked for.
Run as a program it serves until its standard input closes.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

TASK = "text-generation"
AUTHORS = 97


def plain_config(index: int) -> bytes:
    """One of 500 small decoder configs."""
    kind = index % 500
    return json.dumps(
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64 * (1 + kind % 25),
            "intermediate_size": 256,
            "num_attention_heads": 4,
            "num_hidden_layers": 1 + kind // 25,
            "vocab_size": 32000,
        }
    ).encode()


@dataclass(frozen=True)
class Repo:
    """A repository as the server knows it."""

    repo_id: str
    config: bytes | None
    downloads: int = 0
    version: int = 0
    gated: str | bool = False
    disabled: bool = False
    private: bool = False
    gone: bool = False
    renamed_to: str | None = None
    readers: frozenset[str] = frozenset()
    files: tuple[tuple[str, bytes], ...] = ()
    facts: tuple[tuple[str, Any], ...] = ()

    @property
    def sha(self) -> str:
        """The commit: it changes with the version."""
        return hashlib.sha1(f"{self.repo_id}:{self.version}".encode()).hexdigest()

    @property
    def listed(self) -> bool:
        """Whether the public listing shows it."""
        return not (self.gone or self.private or self.renamed_to)

    def stub(self) -> dict[str, Any]:
        """What the Hub shows of the config in a listing."""
        try:
            config = json.loads(self.config or b"{}")
        except (ValueError, RecursionError):
            return {}
        return (
            {key: config[key] for key in ("architectures", "model_type") if key in config}
            if isinstance(config, dict)
            else {}
        )

    def info(self) -> dict[str, Any]:
        """The listing entry with everything expanded."""
        card = dict(self.facts).get("cardData", {"license": "apache-2.0"})
        return {
            "_id": self.sha[:24],
            "id": self.repo_id,
            "modelId": self.repo_id,
            "author": self.repo_id.partition("/")[0],
            "sha": self.sha,
            "createdAt": "2026-01-02T03:04:05.000Z",
            "lastModified": f"2026-02-03T04:05:{self.version % 60:02}.000Z",
            "downloads": self.downloads,
            "likes": self.downloads // 10,
            "gated": self.gated,
            "disabled": self.disabled,
            "private": self.private,
            "pipeline_tag": TASK,
            "library_name": "transformers",
            "tags": ["transformers", "safetensors", TASK],
            "config": self.stub(),
            "safetensors": {"parameters": {"BF16": 1000}, "total": 1000},
            "cardData": card,
        } | dict(self.facts)


class Population:
    """Repositories `org<k>/model-<i>`, the most downloaded first; `extra` ones stand before them."""

    def __init__(
        self, size: int, config: Callable[[int], bytes | None] = plain_config, extra: tuple[Repo, ...] = ()
    ) -> None:
        self.size = size
        self.config = config
        self.extra = list(extra)
        self.edited: dict[int, Repo] = {}

    def __len__(self) -> int:
        return self.size + len(self.extra)

    def repo(self, index: int) -> Repo:
        """The repository at a place of the generated part."""
        if index in self.edited:
            return self.edited[index]
        return Repo(f"org{index % AUTHORS}/model-{index}", self.config(index), downloads=10 * (self.size - index))

    def edit(self, index: int, **changes: Any) -> Repo:
        """Change a generated repository and return it as it now is."""
        self.edited[index] = replace(self.repo(index), **changes)
        return self.edited[index]

    def change(self, index: int, config: bytes | None = None) -> Repo:
        """A new commit: a new sha, and a new config where one is given."""
        repo = self.repo(index)
        return self.edit(index, version=repo.version + 1, config=repo.config if config is None else config)

    def at(self, place: int) -> Repo:
        """The repository at a place of the whole listing."""
        return self.extra[place] if place < len(self.extra) else self.repo(place - len(self.extra))

    def find(self, repo_id: str) -> Repo | None:
        """The repository of that name."""
        digits = repo_id.rpartition("-")[2]
        if digits.isdecimal() and int(digits) < self.size and self.repo(int(digits)).repo_id == repo_id:
            return self.repo(int(digits))
        named = (repo for repo in [*self.extra, *self.edited.values()] if repo.repo_id == repo_id)
        return next(named, None)


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def path(self) -> str:
        """The target without its query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The query, decoded."""
        return parse_qs(urlsplit(self.target).query)

    @property
    def token(self) -> str | None:
        """The bearer token that came along."""
        value = self.headers.get("authorization")
        return value.removeprefix("Bearer ") if value else None


@dataclass(frozen=True)
class Reply:
    """What the server answers.

    `mode` is how the bytes go out: whole; reset (half the body, then a TCP reset); short (half the body, then an
    orderly close); stall (nothing at all); slow (a byte every `pause` seconds).
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    mode: str = "whole"
    pause: float = 0.05


@dataclass
class _Fault:
    pattern: re.Pattern[str]
    reply: Reply | Callable[[Request], Reply]
    left: int | None


class HubServer:
    """The server, in a thread of its own; a context manager.

    `quota` maps a policy name ("api", "resolvers") to (requests, window in seconds), enforced and told as the Hub does.
    `redirects` sends every file through the Hub's resolve cache, one more hop on the same origin. `clock` gives the
    seconds by which windows are counted.
    """

    def __init__(
        self,
        population: Population,
        *,
        quota: dict[str, tuple[int, float]] | None = None,
        redirects: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.population = population
        self.quota = quota or {}
        self.redirects = redirects
        self.requests: list[Request] = []
        self.replies: list[int] = []
        self.endpoint = ""
        self._faults: list[_Fault] = []
        self._windows: dict[str, tuple[float, int]] = {}
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Transport] = set()

    def fail(self, pattern: str, reply: Reply | Callable[[Request], Reply], times: int | None = 1) -> None:
        """Answer the next `times` requests whose target matches (all of them for None) with `reply`."""
        self._faults.append(_Fault(re.compile(pattern), reply, times))

    def heal(self) -> None:
        """Forget every scripted fault."""
        self._faults.clear()

    @property
    def is_ill(self) -> bool:
        """Whether a fault is scripted."""
        return bool(self._faults)

    def forget(self) -> None:
        """Forget the requests seen so far."""
        self.requests.clear()
        self.replies.clear()

    def count(self, pattern: str) -> int:
        """How many requests so far had a target that matches."""
        return sum(1 for request in self.requests if re.search(pattern, request.target))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        ready = threading.Event()
        self._loop.call_soon_threadsafe(ready.set)
        server = self._loop.run_until_complete(self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._server = server
        self._thread.start()
        ready.wait()
        return self

    def _serve(self) -> None:
        self._loop.run_forever()
        for transport in list(self._connections):
            transport.abort()
        for task in self._tasks:
            task.cancel()
        self._server.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def answer(self, request: Request) -> Reply:
        """The reply to a request: a scripted fault, a spent quota, or the truth."""
        reply = self._scripted(request) or self._limited(request)
        self.requests.append(request)
        self.replies.append(reply.status)
        return reply

    def _scripted(self, request: Request) -> Reply | None:
        for fault in self._faults:
            if fault.left != 0 and fault.pattern.search(request.target):
                fault.left = None if fault.left is None else fault.left - 1
                return fault.reply if isinstance(fault.reply, Reply) else fault.reply(request)
        return None

    def _limited(self, request: Request) -> Reply:
        resolving = "/resolve/" in request.path or request.path.startswith("/api/resolve-cache/")
        policy = "resolvers" if resolving else "api"
        if policy not in self.quota:
            return self._truth(request)
        limit, window = self.quota[policy]
        now = self.clock()
        started, used = self._windows.get(policy, (now, 0))
        if now - started >= window:
            started, used = now, 0
        self._windows[policy] = (started, used + 1)
        headers = {
            "RateLimit": f'"{policy}";r={max(0, limit - used - 1)};t={int(started + window - now) + 1}',
            "RateLimit-Policy": f'"fixed window";"{policy}";q={limit};w={int(window) or 1}',
        }
        reply = Reply(429, b"rate limited") if used >= limit else self._truth(request)
        return replace(reply, headers=reply.headers | headers)

    def _truth(self, request: Request) -> Reply:
        path = unquote(request.path)
        if path == "/api/models":
            return self._listing(request)
        if path == "/api/whoami-v2":
            return as_json({"name": "reader", "type": "user"}) if request.token else _error(401, None, "No token")
        if match := re.fullmatch(r"/api/resolve-cache/models/(.+?)/([0-9a-f]{40})/(.+)", path):
            return self._file(request, *match.groups(), cached=True)
        if match := re.fullmatch(r"/api/models/(.+?)(?:/revision/([^/]+))?", path):
            return self._info(request, match[1])
        if match := re.fullmatch(r"/(.+?)/resolve/([^/]+)/(.+)", path):
            return self._file(request, *match.groups(), cached=not self.redirects)
        return _error(404, None, "Not Found")

    def _listing(self, request: Request) -> Reply:
        query = request.query
        place, limit = int(query.get("cursor", ["0"])[0]), int(query.get("limit", ["1000"])[0])
        found: list[dict[str, Any]] = []
        while place < len(self.population) and len(found) < limit:
            repo = self.population.at(place)
            place += 1
            if repo.listed and (entry := repo.info()) and _wanted(entry, query):
                found.append({"siblings": [{"rfilename": name} for name in _files(repo)]} | entry)
        if place >= len(self.population):
            return as_json(found)
        rest = urlencode({**query, "cursor": [str(place)]}, doseq=True)
        return as_json(found, Link=f'<{self.endpoint}/api/models?{rest}>; rel="next"')

    def _info(self, request: Request, repo_id: str) -> Reply:
        repo = self.population.find(repo_id)
        if repo and repo.renamed_to:
            return Reply(
                307, headers={"Location": f"/api/models/{quote(repo.renamed_to)}?{urlsplit(request.target).query}"}
            )
        if refusal := self._refusal(repo, request, reading=False):
            return refusal
        assert repo is not None
        return as_json(repo.info() | {"siblings": [{"rfilename": name} for name in _files(repo)]})

    def _file(self, request: Request, repo_id: str, revision: str, name: str, *, cached: bool) -> Reply:
        repo = self.population.find(repo_id)
        if repo and repo.renamed_to:
            return Reply(307, headers={"Location": request.target.replace(quote(repo_id), quote(repo.renamed_to))})
        if refusal := self._refusal(repo, request, reading=True):
            return refusal
        assert repo is not None
        if revision not in {"main", repo.sha}:
            return _error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if name not in _files(repo):
            return _error(404, "EntryNotFound", "Entry not found")
        if not cached:
            commit = {"X-Repo-Commit": repo.sha, "X-Linked-Size": str(len(_files(repo)[name]))}
            target = f"/api/resolve-cache/models/{quote(repo_id)}/{repo.sha}/{quote(name)}"
            return Reply(307, headers={"Location": target, "ETag": _etag(_files(repo)[name]), **commit})
        return _content(request, _files(repo)[name], repo.sha)

    def _refusal(self, repo: Repo | None, request: Request, *, reading: bool) -> Reply | None:
        known = repo is not None and not repo.gone and (not repo.private or request.token in repo.readers)
        if not known:
            return _error(404 if request.token else 401, "RepoNotFound", "Repository not found")
        assert repo is not None
        if repo.disabled and reading:
            return _error(403, None, "Access to this resource is disabled.")
        if repo.gated and reading and request.token not in repo.readers:
            return _error(403 if request.token else 401, "GatedRepo", f"Access to model {repo.repo_id} is restricted.")
        return None


def _wanted(entry: dict[str, Any], query: dict[str, list[str]]) -> bool:
    task, author = query.get("pipeline_tag"), query.get("author")
    return (task is None or entry["pipeline_tag"] in task) and (author is None or entry["author"] in author)


def _files(repo: Repo) -> dict[str, bytes]:
    return dict(repo.files) | ({} if repo.config is None else {"config.json": repo.config})


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha1(content).hexdigest()}"'


def _content(request: Request, content: bytes, commit: str) -> Reply:
    headers = {"ETag": _etag(content), "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
    if match is None:
        return Reply(200, content, headers)
    first, last = int(match[1]), min(int(match[2] or len(content) - 1), len(content) - 1)
    if first >= len(content):
        return Reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
    return Reply(206, content[first : last + 1], headers | {"Content-Range": f"bytes {first}-{last}/{len(content)}"})


def as_json(value: Any, **headers: str) -> Reply:
    """A reply that carries JSON."""
    return Reply(200, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def _error(status: int, code: str | None, message: str) -> Reply:
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    return Reply(status, json.dumps({"error": message}).encode(), headers)


class _Connection(asyncio.Protocol):
    def __init__(self, hub: HubServer) -> None:
        self.hub = hub
        self.pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.hub._connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.hub._connections.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while (end := self.pending.find(b"\r\n\r\n")) >= 0:
            head, self.pending = self.pending[:end].decode("latin-1"), self.pending[end + 4 :]
            first, *lines = head.split("\r\n")
            method, target, _ = first.split(" ")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            request = Request(method, target, headers)
            self.send(request, self.hub.answer(request))

    def send(self, request: Request, reply: Reply) -> None:
        headers = {"Content-Length": str(len(reply.body)), "X-Request-Id": "loopback"} | reply.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {reply.status} Said\r\n{lines}\r\n".encode("latin-1")
        body = b"" if request.method == "HEAD" else reply.body
        if reply.mode == "whole":
            self.transport.write(head + body)
        elif reply.mode in {"reset", "short"}:
            self.transport.write(head + body[: len(body) // 2])
            self.hub._loop.call_later(0.01, self.reset if reply.mode == "reset" else self.transport.close)
        elif reply.mode == "slow":
            task = self.hub._loop.create_task(self.trickle(head + body, reply.pause))
            self.hub._tasks.add(task)
            task.add_done_callback(self.hub._tasks.discard)

    def reset(self) -> None:
        """End the connection with a TCP reset: a linger of zero seconds throws away what is unsent."""
        linger = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()

    async def trickle(self, data: bytes, pause: float) -> None:
        for position in range(len(data)):
            if self.transport.is_closing():
                return
            self.transport.write(data[position : position + 1])
            await asyncio.sleep(pause)


def main() -> None:
    """Serve a population until standard input closes; the first line of output is the endpoint."""
    options = argparse.ArgumentParser(description=main.__doc__)
    options.add_argument("--repos", type=int, default=1000)
    arguments = options.parse_args()
    with HubServer(Population(arguments.repos)) as hub:
        print(hub.endpoint, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
