"""Requests to the Hub, on huggingface_hub's own session: bounded in time, size, hops and number, with the token kept.

What the stock calls leave open is closed here: every request has a total deadline, a body is read up to a cap, a
redirect never takes the token to another origin, and one quota per policy is shared by all workers.
"""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urljoin, urlsplit

import stamina

from pipeline import PROJECT, __version__
from pipeline.errors import Upstream, Usage
from pipeline.hub.limits import (
    Answer,
    BudgetSpent,
    Garbled,
    GaveUp,
    Limited,
    Limits,
    Refused,
    Spent,
    TooLarge,
    Transient,
)
from pipeline.hub.quota import Quota

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx2

# Retries are counted in the summary; without a handler the library's warnings would go to the terminal.
logging.getLogger("stamina").addHandler(logging.NullHandler())

T = TypeVar("T")
NO_SECRETS = (
    "the endpoint carries a user name or password, which would be stored and shown: leave them out and set HF_TOKEN"
)


class Hub:
    """One connection pool, one quota, one budget. Use as an async context manager.

    `token` None means anonymous. Raises Usage for an endpoint or token that cannot be used.
    """

    def __init__(self, endpoint: str, *, token: str | None, limits: Limits, budget: int | None = None) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.limits = limits
        self.budget = budget
        self.spent = Spent()
        self.quota = Quota(longest_wait=limits.longest_wait, refusals=limits.refusals)
        self.authenticated = token is not None
        self._origin = _endpoint_origin(self.endpoint)
        self._headers = _headers(token)
        self._extensions = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), limits.silence)}
        self.notice: Callable[[str, float], None] | None = None
        """Told why there is no answer, and for how many seconds more one is waited for, with every failed try."""
        self._reached = False
        self._started = time.monotonic()

    async def __aenter__(self) -> Self:
        self._client = _session()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def get(self, url: str, *, kind: str, cap: int, read: Callable[[Answer], T], leave: bool = False) -> T:
        """`read` of the answer to GET `url`, tried until the deadline; `kind` names the quota, `cap` the largest body.

        `leave` allows redirects to another origin, which are followed without the token. `read` may raise Transient.

        Raises:
            GaveUp: no answer before the deadline.
            Refused: the answer cannot be taken (too large, too many redirects, another origin).
            BudgetSpent: before a request that the budget does not cover.
            Upstream: the Hub cannot be reached, or a quota stays spent.
        """
        while True:
            window = await self.quota.enter(kind)
            try:
                return await self._until_deadline(url, kind, cap, read, leave=leave)
            except Limited as refusal:
                self.quota.refuse(kind, refusal.headers)
            finally:
                window.under_way -= 1

    async def _until_deadline(self, url: str, kind: str, cap: int, read: Callable[[Answer], T], *, leave: bool) -> T:
        failures: list[Transient] = []
        end = time.monotonic() + self.limits.deadline

        async def attempt() -> T:
            try:
                return read(await self._once(url, kind, cap, leave))
            except Transient as error:
                self.spent.reasons[str(error)] = self.spent.reasons.get(str(error), 0) + 1
                failures.append(error)
                if self.notice is not None:
                    self.notice(str(error), (end if self._reached else self._first_end()) - time.monotonic())
                raise

        try:
            async with asyncio.timeout(self.limits.deadline):
                return await _tried(attempt, self.limits)
        except (TimeoutError, Transient) as error:
            last = failures[-1] if failures else Transient("it took too long")
            reason = f"no answer within {self.limits.deadline:g} s ({last})"
            raise GaveUp(reason, garbled=isinstance(last, Garbled)) from error

    def _first_end(self) -> float:
        return self._started + self.limits.contact

    async def _once(self, url: str, kind: str, cap: int, leave: bool) -> Answer:  # noqa: FBT001
        import httpx2

        try:
            async with asyncio.timeout(self.limits.attempt):
                return await self._hops(url, kind, cap, leave)
        except TimeoutError as error:
            raise Transient("the answer took too long") from error
        except (httpx2.RemoteProtocolError, httpx2.DecodingError, zlib.error) as error:
            raise Garbled("the answer broke the protocol") from error
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if not self._reached and time.monotonic() - self._started > self.limits.contact:
                raise Upstream(_unreachable(self.endpoint, type(error).__name__)) from error
            raise Transient(type(error).__name__) from error
        except httpx2.TransportError as error:
            raise Transient(type(error).__name__) from error
        except ConnectionError as error:
            raise Upstream(f"{self.endpoint} was not asked: huggingface_hub is set offline (HF_HUB_OFFLINE)") from error

    async def _hops(self, url: str, kind: str, cap: int, leave: bool) -> Answer:  # noqa: FBT001
        trusted = True
        for _ in range(self.limits.hops + 1):
            trusted = trusted and (url.startswith(f"{self.endpoint}/") or origin(url) == self._origin)
            answer = await self._send(url, kind, cap, trusted)
            if answer.status not in {301, 302, 303, 307, 308} or "location" not in answer.headers:
                return answer
            url = self._redirected(url, answer.headers["location"], leave)
        raise Refused(f"more than {self.limits.hops} redirects")

    def _redirected(self, url: str, location: str, leave: bool) -> str:  # noqa: FBT001
        try:
            target = urljoin(url, location)
            leaving = origin(target) != self._origin
        except ValueError as error:
            raise Refused("a redirect to an impossible address") from error
        if leaving and not leave:
            raise Refused("a redirect to another origin")
        if leaving and urlsplit(target).scheme not in ({"https"} if self._origin[0] == "https" else {"http", "https"}):
            raise Refused("a redirect to an unsafe address")
        return target

    async def _send(self, url: str, kind: str, cap: int, trusted: bool) -> Answer:  # noqa: FBT001
        import httpx2

        if self.budget is not None and self.spent.requests >= self.budget:
            raise BudgetSpent
        self.spent.requests += 1
        # Built without the client's own defaults, whose merging costs more than the rest of the request.
        request = httpx2.Request("GET", url, headers=self._headers[trusted], extensions=self._extensions)
        response = await self._client.send(request, stream=True, follow_redirects=False)
        try:
            self._reached = True
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers.raw}
            self.quota.learn(kind, headers)
            self._sort(response.status_code, headers, kind)
            body = await self._body(response, headers, cap)
        finally:
            await response.aclose()
        return Answer(response.status_code, headers, body, url)

    def _sort(self, status: int, headers: Mapping[str, str], kind: str) -> None:
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise Limited(headers)
        self.quota.granted(kind)
        if status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise Transient(f"status {status}")
        if status == HTTPStatus.UNAUTHORIZED and headers.get("x-error-message", "").startswith("Invalid credentials"):
            raise Upstream("the Hub refused the token: log in again (hf auth login), or unset HF_TOKEN")

    async def _body(self, response: httpx2.Response, headers: Mapping[str, str], cap: int) -> bytes:
        decoder = _decoder(headers.get("content-encoding", "identity"))
        body = bytearray()
        async for chunk in response.aiter_raw():
            self.spent.bytes += len(chunk)
            body += decoder.decompress(chunk, cap + 1 - len(body)) if decoder else chunk
            if len(body) > cap:
                raise TooLarge(f"more than {cap} bytes")
        if decoder and not decoder.eof:
            raise Garbled("the compressed answer ends early")
        return bytes(body)


async def _tried(attempt: Callable[[], Awaitable[T]], limits: Limits) -> T:
    """The first try costs no machinery; what fails is tried again, with growing pauses, until the deadline."""
    try:
        return await attempt()
    except Transient as error:
        first = error
    retries = stamina.retry_context(
        on=Transient,
        attempts=None,
        timeout=limits.deadline,
        wait_initial=limits.backoff,
        wait_max=8.0,
        wait_jitter=limits.backoff,
    )
    async for turn in retries:
        with turn:
            if turn.num == 1:
                raise first
            return await attempt()
    raise first


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what the token may be sent to. Raises ValueError where the address has no such parts."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _endpoint_origin(endpoint: str) -> tuple[str, str, int | None]:
    try:
        parts = origin(endpoint)
        if "@" in urlsplit(endpoint).netloc:
            raise Usage(NO_SECRETS)
    except ValueError:
        parts = ("", "", None)
    if parts[0] not in {"http", "https"} or not parts[1]:
        raise Usage(f"{endpoint!r} is not the address of a Hub: give http(s)://host with --endpoint or HF_ENDPOINT")
    return parts


def _decoder(encoding: str) -> Any:
    if encoding in {"identity", ""}:
        return None
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    raise Garbled("an encoding that was not asked for")


def _headers(token: str | None) -> dict[bool, Any]:
    """Headers with and without the token, in httpx2's own type, which never prints an authorization."""
    import httpx2
    from huggingface_hub.utils import build_hf_headers

    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise Usage("the Hub token holds characters that no token has: log in again (hf auth login)")
    common = {"Accept-Encoding": "gzip"}
    sides = {True: token if token is not None else False, False: False}
    return {
        trusted: httpx2.Headers(
            build_hf_headers(token=given, library_name=PROJECT, library_version=__version__) | common
        )
        for trusted, given in sides.items()
    }


def _session() -> httpx2.AsyncClient:
    """huggingface_hub's asynchronous session, without its hook that reads error bodies unbounded."""
    from huggingface_hub import get_async_session

    client = get_async_session()
    client.event_hooks = {"request": client.event_hooks["request"]}
    return client


def _unreachable(endpoint: str, reason: str) -> str:
    return f"{endpoint} cannot be reached ({reason}); check the network or --endpoint, and run again"
