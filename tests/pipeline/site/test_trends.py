"""The page of trends: a row for each kept snapshot, and nothing of those that do not count."""

from __future__ import annotations

import re
from pathlib import Path

import hand_made
import homes
import pytest

from pipeline.site import trends
from pipeline.store import shelf

DAYS = ("2026-11-29", "2026-11-30", "2026-12-01", "2026-12-02")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four snapshots: the second is retracted, the third damaged, the last has a model more downloaded."""
    place = homes.hand_made_days(tmp_path_factory.mktemp("trends"), *DAYS)
    shelf.retract(place, DAYS[1], "wrong")
    (place / "snapshots" / f"{DAYS[2]}.duckdb").unlink()
    return place


def rows(body: str, anchor: str) -> list[str]:
    """The first cells of a section's table."""
    section = body.partition(f'id="{anchor}"')[2].partition("</section>")[0]
    return re.findall(r'<tr><th scope="row">(.*?)</th>', section)


def test_each_kept_snapshot_is_a_row(home: Path) -> None:
    """The newest first; a retracted one and one that is gone are none, and the second is counted."""
    body = trends.page(home, DAYS[3]).body
    assert rows(body, "models") == rows(body, "designs") == [DAYS[3], DAYS[0]]
    assert "2 kept snapshots; 1 more cannot be read here." in body


def test_the_page_of_an_earlier_snapshot_ends_with_it(home: Path) -> None:
    """Equal snapshots have equal pages, whatever came later; one alone is no trend, and the page says so."""
    body = trends.page(home, DAYS[0]).body
    assert rows(body, "models") == [DAYS[0]]
    assert "One snapshot makes no trend" in body


def test_figures_are_those_of_the_file(home: Path) -> None:
    """Models, designs, known and refused as a query on the snapshot counts them."""
    path = home / "snapshots" / f"{DAYS[0]}.duckdb"
    ((_, found),) = trends._asked({DAYS[0]: path}, trends._COUNTED)
    made = hand_made.content()
    assert found["models"] == made["models"]["config_id"].drop_nulls().len()
    assert found["designs"] == made["designs"].height
    body = trends.page(home, DAYS[0]).body
    first = re.search(rf'{DAYS[0]}</th><td class="n">(\d+)</td><td class="n">(\d+)</td>', body)
    assert first is not None
    assert first.groups() == (str(found["models"]), str(found["designs"]))
