"""Simulated years end with the tables of one honest crawl, whatever failed on the way; a seed plays one again."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
import years
import years_made
from crawling import start_crawl
from hub_server import HubServer, Population

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days without what costs and does not matter here."""
    years_made.cheapen(monkeypatch)


def hold(seed: int, days: int, place: Path) -> years.Life:
    """Live, and hold the end against an honest crawl; every snapshot on the way still proves itself."""
    life = years.lived(seed, days, place / "lived")
    assert life.unexpected == [], (seed, life.unexpected, life.told)
    lived, honest = years.kept(years.standing(place / "lived")), years.kept(years.honest(life, place / "honest"))
    # A repository that is gone is remembered as missing by who knew it, and unknown to who never did.
    assert {n: r for n, r in lived.items() if r != ("missing",)} == {
        n: r for n, r in honest.items() if r != ("missing",)
    }, seed
    assert years.proven(place / "lived") >= 1
    told = [p for p in place.rglob("*") if p.is_file() and years_made.CANARY.encode() in p.read_bytes()]
    assert told == []
    return life


def test_a_simulated_week_ends_like_an_honest_crawl(tmp_path: Path) -> None:
    """Seven days of changes, outages and clock steps: the last snapshot is that of one crawl at the end."""
    hold(0, 7, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 300))
def test_two_simulated_months_end_like_an_honest_crawl(seed: int, tmp_path: Path) -> None:
    """Sixty days."""
    hold(seed, 60, tmp_path)


@pytest.mark.soak
def test_a_simulated_year_ends_like_an_honest_crawl(tmp_path: Path) -> None:
    """365 days."""
    hold(365, 365, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_days_of_kills_end_like_an_honest_crawl(seed: int, tmp_path: Path) -> None:
    """Each day's crawl is killed at a random moment, then run to its end: the archive stays whole."""
    draw = random.Random(seed)
    with HubServer(Population(40, config=years.config)) as hub:
        for _ in range(6):
            hub.population.change(draw.randrange(40), years.config(draw.randrange(400)))
            process = start_crawl(tmp_path, hub, finish=False)
            process.join(draw.uniform(0.05, 0.6))
            process.kill()
            process.join()
        years_made.refreshed(tmp_path, hub, years.START)
        with sqlite3.connect(tmp_path / "archive/hub.sqlite") as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        life = years.Life(seed, hub.population, draw)
        assert years.kept(years.standing(tmp_path)) == years.kept(years.honest(life, tmp_path / "honest"))
