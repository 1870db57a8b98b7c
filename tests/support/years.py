"""Years of a home in minutes: a Hub that changes and fails at random, refreshed day by day, from a seed.

    end = years.lived(seed, days=60, home=tmp_path)           # every day's fault, and how each refresh ended
    assert years.tables(home) == years.honest(end, other_home)

Whatever happens is drawn from the seed, so that a failure can be played again by its number.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
from crawling import FAST
from hub_server import HubServer, Population, Reply, Repo

from pipeline.errors import AtlasError, Busy, Invalid, Upstream
from pipeline.hub import crawl
from pipeline.hub.listing import Selection
from pipeline.refresh import steps, tables, unchanged
from pipeline.refresh.steps import Gathered, Options
from pipeline.store import shelf, snapshot

START = dt.date(2027, 1, 1)
CANARY = "hf_canary9canary9canary9canary9"
QUICK = replace(FAST, deadline=0.25, attempt=0.15, silence=0.1, contact=0.3, longest_wait=0.05, refusals=2, workers=4)
BY_ID = "SELECT repo_id, outcome::VARCHAR, revision, config_id, downloads, gated FROM models ORDER BY repo_id"


def config(number: int, *, odd: bool = False) -> bytes:
    """One of many small configs; an odd one gives no numbers."""
    if odd:
        return b"[" * (number % 50 + 1)
    return json.dumps(
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 16 * (1 + number % 7),
            "intermediate_size": 32,
            "num_attention_heads": 2,
            "num_hidden_layers": 1 + number % 5,
            "vocab_size": 100 + number,
        }
    ).encode()


FAULTS: dict[str, Reply] = {
    "404": Reply(404),
    "no entry": Reply(404, b"", {"X-Error-Code": "EntryNotFound"}),
    "no repository": Reply(404, b"", {"X-Error-Code": "RepoNotFound"}),
    "401": Reply(401),
    "403": Reply(403),
    "451": Reply(451),
    "500": Reply(500),
    "503": Reply(503),
    "429": Reply(429, b"", {"Retry-After": "1"}),
    "a page": Reply(200, b"<html>back soon</html>"),
    "a redirect to itself": Reply(302, b"", {"Location": "/a/resolve/main/config.json"}),
    "cut short": Reply(200, b'{"model_type": "llama"' * 50, mode="short"),
    "reset": Reply(200, b"x" * 5_000, mode="reset"),
}


@dataclass
class Life:
    """What happened: the Hub as it is at the end, each day's fault, and how each refresh ended."""

    seed: int
    population: Population
    rng: random.Random
    day: dt.date = START
    ends: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)


def refreshed(home: Path, hub: HubServer, day: dt.date, *, allow_shrink: bool = False) -> str:
    """One refresh, the guide and the catalogue left out; how it ended in a word."""
    options = Options(home, steps.HUB, day, endpoint=hub.endpoint, allow_shrink=allow_shrink)
    options = replace_day(options, home, day)
    with crawl.run(
        home, hub.endpoint, Selection(), token=CANARY, allow_shrink=allow_shrink, limits=QUICK, today=options.day
    ) as found:
        gathered = Gathered(iter(found.records()), options.day or day, found.summary.listed + found.summary.vanished)
        gathered.crawl, gathered.key = found, unchanged.key(options, found)
        if _is_unchanged(options, gathered):
            found.finish(gathered.key, shelf.read(shelf.folder(home)).entry(None).manifest)
            return "nothing new"
        made = steps.publish(options, gathered, tables.tables(gathered.found))
        steps.finish(gathered, made)
    return "published" if made.is_new else "the same"


def _is_unchanged(options: Options, gathered: Gathered) -> bool:
    index, found = shelf.read(shelf.folder(options.home)), gathered.crawl
    assert found is not None
    return index.latest is not None and found.before() == (gathered.key, index.entry(None).manifest)


def replace_day(options: Options, home: Path, day: dt.date) -> Options:
    """The clock may step back; the latest snapshot's day then stands, as for who gives no date."""
    import msgspec

    latest = shelf.read(shelf.folder(home)).latest
    return msgspec.structs.replace(options, day=max(day, shelf.order(latest)[0]) if latest else day)


def lived(seed: int, days: int, home: Path, size: int = 12) -> Life:
    """Live so many days from a seed; the last two are without a fault."""
    rng = random.Random(seed)
    population = Population(size, config=config)
    life = Life(seed, population, rng)
    with HubServer(population) as hub:
        for number in range(days):
            _change(life)
            if number < days - 2:
                _fail(life, hub)
            _day(life, hub, home)
            hub.heal()
            life.day += dt.timedelta(days=-1 if rng.random() < 0.02 else 1)
        life.day += dt.timedelta(days=40)
        for _ in range(2):
            _day(life, hub, home, honest=True)
    return life


def _day(life: Life, hub: HubServer, home: Path, *, honest: bool = False) -> None:
    """Refresh until something stands, as an operator would: what was refused is run again on the next day."""
    try:
        life.ends[refreshed(home, hub, life.day, allow_shrink=honest)] += 1
    except (Invalid, Upstream, Busy) as error:
        life.ends[type(error).__name__] += 1
    except AtlasError as error:
        life.unexpected.append(f"{life.day}: {type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - what this is about
        life.unexpected.append(f"{life.day}: unexpected {type(error).__name__}: {error}")


def _change(life: Life) -> None:
    """Some repositories are new, changed, gated, opened, gone, renamed, private or counted otherwise."""
    rng, hub = life.rng, life.population
    for _ in range(rng.choice((0, 0, 1, 2))):
        index = rng.randrange(len(hub))
        repo = hub.at(index)
        new = Repo(f"new/model-{life.day.toordinal()}-{rng.random():.6f}", config(rng.randrange(400)))
        edits: list[dict[str, Any]] = [
            {"config": config(rng.randrange(400), odd=rng.random() < 0.1), "version": repo.version + 1},
            {"gated": rng.choice(("auto", "manual", False))},
            {"downloads": rng.randrange(1_000)},
            {"disabled": not repo.disabled},
            {"config": None, "version": repo.version + 1},
            {"private": not repo.private},
            {"gone": True},
            {"renamed_to": "other/name"},
        ]
        what = rng.randrange(10)
        if what >= len(edits):
            hub.extra.append(new)
        elif index < len(hub.extra):
            hub.extra[index] = replace(repo, **edits[what])
        else:
            hub.edit(index - len(hub.extra), **edits[what])


def _fail(life: Life, hub: HubServer) -> None:
    """On one day in three something fails: for all configs, for some, for a few requests, or the listing."""
    rng = life.rng
    if rng.random() > 0.33:
        return
    reply = FAULTS[rng.choice(list(FAULTS))]
    where = rng.choice((r"/resolve/", r"[02468]/resolve/", r"[13]/resolve/", r"/api/models"))
    hub.fail(where, reply, times=rng.choice((1, 2, 5, None)))


def honest(life: Life, home: Path) -> list[tuple[Any, ...]]:
    """What one crawl of the Hub as it is at the end gives in an empty home."""
    with HubServer(life.population) as hub:
        refreshed(home, hub, life.day, allow_shrink=True)
    return standing(home)


def standing(home: Path) -> list[tuple[Any, ...]]:
    """The models of the latest snapshot that the Hub gives now: what can be read at all must be read right."""
    _, path = shelf.locate(home)
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(BY_ID).fetchall()


def proven(home: Path) -> int:
    """How many snapshots of a home prove themselves. Raises where one does not."""
    return len(snapshot.verify(home))
