"""Facts of a listing as columns of `models`: days, moments and words as the table keeps them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from schemas.registry import MODELS

LISTING = MODELS.columns[MODELS.columns.index("detail") + 1 : MODELS.columns.index("config_id")]
"""Facts of a listing that become columns of `models`."""


def listed(listing: Mapping[str, Any]) -> list[Any]:
    """The columns of a listing, in the order of `LISTING`; all null where there is none."""
    if not listing:
        return UNLISTED
    facts = {
        **listing,
        "created_at": _creation(listing.get("created_at")),
        "release_date": _day(listing.get("release_date")),
        "last_modified": _moment(listing.get("last_modified")),
    }
    if isinstance(facts.get("gated"), bool):
        facts["gated"] = str(facts["gated"]).lower()
    return [facts.get(name) for name in LISTING]


UNLISTED: list[Any] = [None] * len(LISTING)


HUB_FLOOR = dt.date(2022, 3, 2)
"""The day the Hub gives to every repository that is older: no day of creation."""


def _creation(text: str | None) -> dt.datetime | None:
    """The day a repository was created; null where the Hub does not know it."""
    moment = _moment(text)
    return None if moment is None or moment.date() <= HUB_FLOOR else moment


def _day(text: str | None) -> dt.date | None:
    return None if text is None else dt.date.fromisoformat(text)


def _moment(text: str | None) -> dt.datetime | None:
    """A listed time as UTC without zone; null where it is none."""
    if text is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None
