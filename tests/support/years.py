"""Years of a home in minutes: a Hub that changes and fails at random, refreshed day by day, from a seed.

    life = years.lived(seed, days=60, home=tmp_path)          # every day's faults, and how each refresh ended
    assert kept(years.standing(home)) == kept(years.honest(life, other_home))

What happens is drawn from the seed, so that a failure can be played again by its number. The days are those of
`pipeline.refresh.steps`; only what costs and does not matter here is left out (see `years_made`): the catalogue, the
guide, and the whole judgement of every file but the last ones.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import years_made
from failpoints import passages
from hub_server import HubServer, Population, Reply, Repo, Request, as_json
from years_made import refreshed, refreshed_elsewhere

from pipeline.errors import AtlasError, Busy, Invalid, Upstream
from pipeline.store import prune, shelf, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

START = dt.date(2025, 1, 1)
BY_ID = "SELECT repo_id, outcome::VARCHAR, revision, config_id, downloads, gated FROM models ORDER BY repo_id"
POINTS = [p for p in passages() if p.startswith(("archive.", "snapshot."))]


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


def _half(request: Request) -> Reply:
    """A listing that lost what stands in it."""
    del request
    return as_json([])


FAULTS: dict[str, Reply | Callable[[Request], Reply]] = {
    "404": Reply(404),
    "no entry": Reply(404, b"", {"X-Error-Code": "EntryNotFound"}),
    "no repository": Reply(404, b"", {"X-Error-Code": "RepoNotFound"}),
    "401": Reply(401),
    "403": Reply(403),
    "gated": Reply(403, b"", {"X-Error-Code": "GatedRepo"}),
    "410": Reply(410),
    "451": Reply(451),
    "500": Reply(500),
    "503": Reply(503),
    "429": Reply(429, b"", {"Retry-After": "1"}),
    "429 without a word": Reply(429),
    "a page": Reply(200, b"<html>back soon</html>"),
    "nothing": Reply(200, b""),
    "a redirect to itself": Reply(302, b"", {"Location": "/a/resolve/main/config.json"}),
    "a redirect elsewhere": Reply(302, b"", {"Location": "http://127.0.0.1:9/config.json"}),
    "too large": Reply(200, b" " * (5 * 2**20 + 1)),
    "cut short": Reply(200, b'{"model_type": "llama"' * 50, mode="short"),
    "reset": Reply(200, b"x" * 5_000, mode="reset"),
    "silence": Reply(200, b"{}", mode="stall"),
    "a byte at a time": Reply(200, b"{}" * 99, mode="slow"),
}
LISTINGS: dict[str, Reply | Callable[[Request], Reply]] = {**FAULTS, "an empty listing": _half}
WHERE = (r"/resolve/", r"[02468]/resolve/", r"[13]/resolve/")


@dataclass
class Life:
    """What happened: the Hub as it is at the end, each day's fault, and how each refresh ended."""

    seed: int
    population: Population
    rng: random.Random
    day: dt.date = START
    ends: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def tell(self, what: str) -> None:
        """What happened today, for who plays it again."""
        self.told.append(f"{self.day} {what}")


def lived(seed: int, days: int, home: Path, size: int = 12) -> Life:
    """Live so many days from a seed; the last two are without a fault, and their snapshots are judged in full."""
    life = Life(seed, Population(size, config=config), random.Random(seed))
    with HubServer(life.population) as hub:
        for number in range(days):
            _change(life)
            if number < days - 2:
                _fail(life, hub)
            _operate(life, home)
            _day(life, hub, home, plain=number >= days - 2)
            hub.heal()
            _standing_is_whole(life, home)
            life.day += dt.timedelta(days=-1 if life.rng.random() < 0.02 else 1)
        life.day += dt.timedelta(days=40)
        with years_made.judged_in_full():
            for _ in range(2):
                _day(life, hub, home, honest=True, plain=True)
    return life


def _standing_is_whole(life: Life, home: Path) -> None:
    """Whatever happened today: the index can be read, and its latest is the file it was."""
    try:
        if shelf.read(shelf.folder(home)).latest is not None:
            shelf.locate(home)
    except AtlasError as error:
        life.unexpected.append(f"{life.day}: latest: {type(error).__name__}: {error}")


def _day(life: Life, hub: HubServer, home: Path, *, honest: bool = False, plain: bool = False) -> None:
    """Refresh, as an operator would: killed on some days, on a full disk on others; what was refused is run again."""
    what = 1.0 if plain else life.rng.random()
    point, passage = life.rng.choice(POINTS), life.rng.choice((1, 1, 1, 2, 5))
    if what < 0.03:
        life.tell(f"killed at {point}:{passage}")
        life.ends["killed"] += refreshed_elsewhere(home, hub, life.day, f"{point}:kill:{passage}")
        return
    if what < 0.04:
        life.tell("killed somewhere")
        life.ends["killed"] += refreshed_elsewhere(home, hub, life.day, seconds=life.rng.uniform(0.01, 0.3))
        return
    ill = f"{point}:{life.rng.choice(('enospc', 'eio'))}:{passage}" if what < 0.08 else None
    if ill:
        life.tell(ill)
    _run(life, hub, home, ill, honest=honest)


def _run(life: Life, hub: HubServer, home: Path, ill: str | None, *, honest: bool) -> None:
    try:
        life.ends[refreshed(home, hub, life.day, allow_shrink=honest, ill=ill)] += 1
    except (Invalid, Upstream, Busy) as error:
        life.ends[type(error).__name__] += 1
    except Exception as error:  # noqa: BLE001 - what this is about
        if ill and type(error) is AtlasError and "cannot write" in str(error):
            life.ends["disk"] += 1
        else:
            life.unexpected.append(f"{life.day}: {type(error).__name__}: {error}")


def _operate(life: Life, home: Path) -> None:
    """On some days the latest snapshot is taken back, or old ones are let go."""
    what, place = life.rng.random(), shelf.folder(home)
    if what > 0.05 or shelf.read(place).latest is None:
        return
    if what < 0.02:
        life.tell("retracted")
        shelf.retract(home, "latest", "simulated")
    elif what < 0.035:
        life.tell("pruned")
        prune.prune(home)
    else:
        life.tell("thinned")
        prune.thin(home, prune.Keep(daily=3, weekly=2))


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
            {"renamed_to": f"other/name-{rng.randrange(3)}"},
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
    of_listing = rng.random() < 0.25
    name = rng.choice(list(LISTINGS if of_listing else FAULTS))
    where, times = r"/api/models" if of_listing else rng.choice(WHERE), rng.choice((1, 2, 5, None))
    life.tell(f"{name} at {where}, {times} times")
    hub.fail(where, LISTINGS[name], times=times)


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


def kept(rows: list[tuple[object, ...]]) -> dict[object, tuple[object, ...]]:
    """Rows by name; of a repository that cannot be read now, how it stands, and not the config it had before."""
    return {row[0]: row[1:] if row[1] == "ok" else row[1:2] for row in rows}


def proven(home: Path, some: int = 2) -> int:
    """Every file is the one that was published, the latest and the last few row by row. Raises where one is not."""
    index = shelf.read(shelf.folder(home))
    for entry in index.snapshots:
        shelf.checked(shelf.folder(home), entry)
    for entry in index.snapshots[-some:]:
        snapshot.verify(home, entry.id)
    return len(index.snapshots)
