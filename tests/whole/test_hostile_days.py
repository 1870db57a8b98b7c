"""Bad days one upon another: an outage, a kill or a full disk in the middle of it, and an operator who acts meanwhile.

Whatever happened, the first good day afterwards has the tables of one honest crawl, and every file proves itself.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest
import years
import years_made
from hub_server import HubServer, Population, Repo
from years_made import refreshed, refreshed_elsewhere

from pipeline.errors import AtlasError, Corrupt, Invalid, Upstream
from pipeline.hub.archive import Archive
from pipeline.store import prune, shelf, snapshot

pytestmark = pytest.mark.slow
SIZE = 24
DAY = dt.date(2025, 3, 1)
ONE = dt.timedelta(days=1)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    years_made.cheapen(monkeypatch)


class Home:
    """A home, its Hub and its day."""

    def __init__(self, place: Path, hub: HubServer) -> None:
        self.place, self.hub, self.day = place, hub, DAY

    def lived(self, **options: object) -> str:
        """A day's refresh, in a word; what may fail is named by its error."""
        self.day += ONE
        try:
            return refreshed(self.place, self.hub, self.day, **options)  # pyright: ignore[reportArgumentType]
        except (Invalid, Upstream) as error:
            return type(error).__name__
        except AtlasError as error:
            if "cannot write" not in str(error):
                raise
            return "disk"

    def changed(self, share: int = 1) -> None:
        """Every so-manieth repository has a new commit and another config."""
        for index in range(0, SIZE, share):
            number = self.hub.population.repo(index).version
            self.hub.population.change(index, years.config((index + 31 * (number + 1)) % 400))

    def ends_well(self) -> None:
        """After two good days: the tables of an honest crawl, and files that prove themselves."""
        self.hub.heal()
        assert self.lived(allow_shrink=True) in {"published", "nothing new"}
        self.day += 40 * ONE
        assert self.lived(allow_shrink=True) in {"published", "nothing new"}
        life = years.Life(0, self.hub.population, years.random.Random(0), self.day)
        honest = years.kept(years.honest(life, self.place.parent / "honest"))
        lived = years.kept(years.standing(self.place))
        assert {n: r for n, r in lived.items() if r != ("missing",)} == honest
        snapshot.verify(self.place)
        with Archive(self.place) as archive:
            assert archive.verify() > 0


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home with the snapshot of a good day."""
    with HubServer(Population(SIZE, config=years.config)) as hub:
        made = Home(tmp_path / "home", hub)
        assert made.lived() == "published"
        yield made


OUTAGES = ("404", "401", "a page", "a redirect to itself", "too large", "503", "gated", "reset", "nothing", "410")


def retracted(home: Home) -> None:
    """Today's operator takes the latest back."""
    shelf.retract(home.place, "latest", "a bad day")


def pruned(home: Home) -> None:
    """Takes the latest back, and its file away."""
    retracted(home)
    prune.prune(home.place)


def thinned(home: Home) -> None:
    """Keeps one day alone."""
    prune.thin(home.place, prune.Keep(daily=1))


def renamed(home: Home) -> None:
    """A repository moves to another name, which is listed; another is gone."""
    old = home.hub.population.repo(1)
    home.hub.population.edit(1, renamed_to="other/name")
    home.hub.population.extra.append(Repo("other/name", old.config))
    home.hub.population.edit(2, gone=True)


def clock_back(home: Home) -> None:
    """The clock loses two weeks."""
    home.day -= 14 * ONE


def clock_ahead(home: Home) -> None:
    """The clock is a year ahead, for a day."""
    home.day += 365 * ONE
    home.lived()
    home.day -= 365 * ONE


def without_archive(home: Home) -> None:
    """Somebody moves the archive away."""
    shutil.rmtree(home.place / "archive")


def without_index(home: Home) -> None:
    """Somebody loses the index; the files are there."""
    (home.place / "snapshots" / "index.json").unlink()


def old_backup(home: Home) -> None:
    """The folder of snapshots is that of yesterday, the archive today's."""
    saved = home.place.parent / "saved"
    shutil.copytree(home.place / "snapshots", saved)
    home.hub.heal()
    home.lived()
    for file in (home.place / "snapshots").iterdir():
        file.unlink()
    shutil.copytree(saved, home.place / "snapshots", dirs_exist_ok=True)


def old_archive(home: Home) -> None:
    """The archive is that of yesterday, the snapshots are today's."""
    saved = home.place.parent / "saved.sqlite"
    shutil.copyfile(home.place / "archive" / "hub.sqlite", saved)
    home.lived()
    shutil.copyfile(saved, home.place / "archive" / "hub.sqlite")


ACTS: tuple[Callable[[Home], None], ...] = (
    retracted, pruned, thinned, renamed, clock_back, clock_ahead, without_archive, without_index, old_backup,
    old_archive,
)  # fmt: skip


def bad_days(home: Home, outage: str, act: Callable[[Home], None], point: str | None, ill: str | None) -> None:
    """All commits change while configs fail; the crawl is killed; the operator acts; the disk fails; it is over."""
    home.changed(share=2)
    home.hub.fail("/resolve/", years.FAULTS[outage], times=None)
    if point:
        refreshed_elsewhere(home.place, home.hub, home.day, f"{point}:kill")
    before = {name for name, *_ in years.standing(home.place)}
    assert home.lived() in {"Invalid", "Upstream", "published", "nothing new"}
    assert {name for name, *_ in years.standing(home.place)} == before
    act(home)
    if ill:
        home.lived(ill=ill)
    home.ends_well()


@pytest.mark.parametrize(
    ("outage", "act"), list(zip(OUTAGES, ACTS, strict=True))[::3], ids=lambda v: getattr(v, "__name__", v)
)
def test_an_operator_who_acts_in_an_outage(home: Home, outage: str, act: Callable[[Home], None]) -> None:
    """Every third outage with one thing that somebody does meanwhile, and a full disk on the day after."""
    bad_days(home, outage, act, None, "snapshot.file.written:enospc")


@pytest.mark.soak
@pytest.mark.parametrize("act", ACTS, ids=lambda v: v.__name__)
@pytest.mark.parametrize("outage", OUTAGES)
def test_every_outage_with_everything_that_is_done(home: Home, outage: str, act: Callable[[Home], None]) -> None:
    """All hundred pairs, the crawl killed at a point and the disk ill at another, which differ from pair to pair."""
    number = OUTAGES.index(outage) * len(ACTS) + ACTS.index(act)
    point, ill = (years.POINTS[(number * k) % len(years.POINTS)] for k in (7, 11))
    bad_days(home, outage, act, point, f"{ill}:{'enospc' if number % 2 else 'eio'}")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("point", "outage", "act"), list(zip(years.POINTS, cycle(OUTAGES), cycle(ACTS[3:]), strict=False))
)
def test_a_kill_at_every_point_of_a_bad_day(home: Home, point: str, outage: str, act: Callable[[Home], None]) -> None:
    """Killed at each passage of each write of archive and snapshot."""
    bad_days(home, outage, act, point, None)


@pytest.mark.parametrize("kilobytes", [30, 300, 900])
def test_a_disk_that_is_really_full_in_the_middle_of_a_bad_day(home: Home, kilobytes: int) -> None:
    """The system lets no file grow beyond so much: what stands stays, and the next good day is complete."""
    home.changed()
    before = years.standing(home.place)
    years_made.refreshed_on_a_small_disk(home.place, home.hub, home.day + ONE, kilobytes * 1000)
    assert years.standing(home.place) == before
    home.ends_well()


def test_an_outage_on_the_very_first_day(tmp_path: Path) -> None:
    """Nothing was known before, so that nothing warns: the next days ask for everything again."""
    with HubServer(Population(SIZE, config=years.config)) as hub:
        home = Home(tmp_path / "home", hub)
        hub.fail("/resolve/", years.FAULTS["404"], times=None)
        assert home.lived() == "published"
        assert {outcome for _, outcome, *_ in years.standing(home.place)} == {"unsupported"}
        hub.heal()
        home.ends_well()


def test_names_that_go_round_in_a_ring(home: Home) -> None:
    """A moves to B, B to C and C back to A, each listed under its new name, and back again."""
    for _ in range(3):
        configs = [home.hub.population.repo(i).config for i in range(3)]
        for i in range(3):
            home.hub.population.change(i, configs[i - 1])
        assert home.lived() == "published"
    home.ends_well()


def test_a_commit_that_goes_back(home: Home) -> None:
    """A repository is set back to its first commit: its first config is what stands."""
    first = years.standing(home.place)
    home.changed()
    assert home.lived() == "published"
    home.hub.population.edited.clear()
    assert home.lived() == "published"
    assert years.standing(home.place) == first
    home.ends_well()


def test_the_listing_forgets_one_in_ten_for_a_day(home: Home) -> None:
    """Refused, exit 3, latest as it was; on the next day nothing is new."""
    listed = home.hub.population.extra, {**home.hub.population.edited}
    for index in range(0, SIZE, 10):
        home.hub.population.edit(index, private=True)
    assert home.lived() == "Invalid"
    home.hub.population.extra, home.hub.population.edited = listed
    assert home.lived() == "nothing new"
    home.ends_well()


def test_a_lost_row_of_the_archive_is_damage_and_a_new_archive_mends_it(home: Home) -> None:
    """A row of the archive deleted by hand is exit 6 before it is used; moved away, the archive is made anew."""
    with closing(sqlite3.connect(home.place / "archive" / "hub.sqlite")) as database:
        database.execute("DELETE FROM attempts WHERE attempt = 3")
        database.commit()
    with pytest.raises(Corrupt):
        refreshed(home.place, home.hub, home.day)
    without_archive(home)
    home.ends_well()
