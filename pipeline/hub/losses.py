"""Mass loss: a crawl that found far less than the last one is not believed until somebody says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.errors import Invalid
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

SHRINK = 0.02
"""Share of the listing."""
SHRINK_REPOS = 2
"""A single repository that goes is everyday life, however short the listing."""
SHIFT = 0.05
"""Share of the repositories that came to anything but `deferred`."""
FAMILY_SHRINK = 0.2
ENOUGH = 20
"""Fewer repositories than this prove nothing about an outcome or a family."""

GOOD = frozenset({Outcome.OK, Outcome.UNCHANGED, Outcome.DEFERRED})


def shrunk(before: Mapping[str, Any] | None, listed: int) -> list[str]:
    """What is wrong with a listing of `listed` repositories after the last finished run's summary."""
    if before is None:
        return []
    lost = before["listed"] - listed
    if lost < SHRINK_REPOS or lost < SHRINK * before["listed"]:
        return []
    return [f"the listing has {listed:,} repositories, {lost:,} fewer than the {before['listed']:,} of the last run"]


def shifted(before: Mapping[str, Any] | None, outcomes: Mapping[str, int], families: Mapping[str, int]) -> list[str]:
    """What is wrong with the outcomes and the families after the last finished run's summary."""
    if before is None:
        return []
    return [*_worse(before["outcomes"], outcomes), *_fewer(before["model_types"], families)]


def _worse(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    then_all, now_all = _decided(before), _decided(now)
    found: list[str] = []
    for outcome in (outcome for outcome in Outcome if outcome not in GOOD):
        then, here = before.get(outcome, 0), now.get(outcome, 0)
        if then_all and here - then >= ENOUGH and here / now_all - then / then_all >= SHIFT:
            found.append(f"{here:,} of {now_all:,} repositories are {outcome}, after {then:,} of {then_all:,}")
    return found


def _decided(outcomes: Mapping[str, int]) -> int:
    return sum(outcomes.values()) - outcomes.get(Outcome.DEFERRED, 0)


def _fewer(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    lost = {name: (then, now.get(name, 0)) for name, then in before.items() if then >= ENOUGH}
    return [
        f"{here:,} repositories name the model_type {name!r}, after {then:,}"
        for name, (then, here) in lost.items()
        if then - here >= FAMILY_SHRINK * then
    ]


def stop(losses: list[str]) -> None:
    """Raises Invalid where anything was lost."""
    if losses:
        raise Invalid(f"{'; '.join(losses)}. If that is as it should be, run again with --allow-shrink")
