"""One config from the Hub, and what its answer means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from pipeline.hub.attempts import Attempt, Job
from pipeline.hub.limits import Answer, GaveUp, Refused, TooLarge
from pipeline.hub.session import Hub
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

BY_CODE = {
    "GatedRepo": (Outcome.GATED, "access was not granted"),
    "EntryNotFound": (Outcome.UNSUPPORTED, "no config.json"),
    "RevisionNotFound": (Outcome.MISSING, "the listed commit is gone"),
    "RepoNotFound": (Outcome.MISSING, "the repository is gone, or no longer public"),
}
BY_STATUS = {
    401: (Outcome.MISSING, "the repository is gone, or no longer public"),
    403: (Outcome.GATED, "access was refused"),
    404: (Outcome.UNSUPPORTED, "no config.json"),
    410: (Outcome.MISSING, "the repository is gone"),
    451: (Outcome.DISABLED, "unavailable for legal reasons"),
}
DISABLED = "Access to this resource is disabled."


async def fetch(hub: Hub, job: Job) -> Attempt:
    """config.json at the listed commit, and the settings files that its listing names: a GET each.

    Raises:
        GaveUp: no answer before the deadline; trying again in a later run may help.
        BudgetSpent: the budget does not cover it.
        Upstream: the Hub cannot be reached, or a quota stays spent.
    """
    try:
        answer = await _get(hub, job, "config.json")
    except TooLarge as error:
        return Attempt(job, Outcome.TOO_LARGE, None, str(error))
    except Refused as error:
        return Attempt(job, Outcome.MALFORMED, None, str(error))
    except GaveUp as error:
        if error.garbled:
            return Attempt(job, Outcome.MALFORMED, None, str(error))
        raise
    found = _read(job, answer)
    names = orjson.loads(job.settings) if found.outcome is Outcome.OK else []
    return found._replace(beside=tuple([(name, await _beside(hub, job, name)) for name in names]))


async def _get(hub: Hub, job: Job, name: str) -> Answer:
    url = f"{hub.endpoint}/{quote(job.repo_id)}/resolve/{job.revision}/{name}"
    return await hub.get(url, kind="resolvers", cap=hub.limits.config_bytes, read=_itself, leave=True)


async def _beside(hub: Hub, job: Job, name: str) -> bytes:
    """A settings file; nothing where it cannot be had or is no JSON. Raises as `fetch` where trying again may help."""
    try:
        answer = await _get(hub, job, name)
    except (TooLarge, Refused):
        return b""
    return answer.body if answer.status == 200 and not_json(answer.body) is None else b""


def _itself(answer: Answer) -> Answer:
    return answer


def _read(job: Job, answer: Answer) -> Attempt:
    if answer.status != 200:
        outcome, detail = _refusal(answer.status, answer.headers)
        return Attempt(job, outcome, None, detail)
    fault = not_json(answer.body)
    if fault is not None:
        return Attempt(job, Outcome.MALFORMED, None, fault)
    return Attempt(job, Outcome.OK, answer.body, None)


def _refusal(status: int, headers: Mapping[str, str]) -> tuple[Outcome, str]:
    if headers.get("x-error-message") == DISABLED:
        return Outcome.DISABLED, "disabled by the Hub"
    by_status = BY_STATUS.get(status, (Outcome.MALFORMED, f"an answer of status {status}"))
    return BY_CODE.get(headers.get("x-error-code", ""), by_status)


def not_json(body: bytes) -> str | None:
    """Why no JSON reader takes the body; None where one does. What it means is for the derivation to judge."""
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            json.loads(body)
        except RecursionError:
            return "nested too deeply"
        except ValueError as error:
            return f"not JSON: {type(error).__name__}"
    return None
