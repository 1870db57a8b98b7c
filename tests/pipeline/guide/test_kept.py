"""A build of the guide after another: what did not change is not made again, and comes out as if it were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import guide
import pytest

from pipeline.guide import charts, kept, page, render

pytestmark = pytest.mark.slow

SHARES = [("Model", "label", "text"), ("Share", "share", "pct")]
PAGE = """```sql m
SELECT repo_id AS label, n_layers / 10 AS share
FROM fingerprints WHERE repo_id LIKE 'org/%' ORDER BY 1
```
```sql all
SELECT count(*) AS n FROM models
```
{{ row.all.n|count }}
{{ chart('bars', 'share_bars', rows.m, COLUMNS, 'Layers of models.', label='label', value='share') }}
"""


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide is one page with one chart."""
    folder = guide.sources(tmp_path / "pages", PAGE.replace("COLUMNS", json.dumps(SHARES)))
    monkeypatch.setattr(page, "folder", lambda: folder)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of charts as they are drawn."""
    titles: list[str] = []
    for kind, draw in charts.KINDS.items():
        monkeypatch.setitem(charts.KINDS, kind, _noted(draw, titles))
    return titles


def _noted(draw: Callable[..., str], titles: list[str]) -> Callable[..., str]:
    def noted(*arguments: Any, title: str, **more: Any) -> str:
        titles.append(title)
        return draw(*arguments, title=title, **more)

    return noted


def texts(home: Path) -> dict[str, bytes]:
    """Every file of the guide."""
    place = home / render.GUIDE
    return {p.relative_to(place).as_posix(): p.read_bytes() for p in place.rglob("*") if p.is_file()}


def test_a_build_on_the_same_writes_and_draws_nothing(tmp_path: Path, drawn: list[str]) -> None:
    """The second build of a snapshot names the same pages, changes no file and opens no query."""
    path = guide.published("org/one")
    first = render.build(tmp_path / "a", path)
    assert (first.failed, [b.slug for b in first.built], drawn) == ((), ["p"], ["Layers of models."])
    again = render.build(tmp_path / "a", path)
    assert (again.snapshot, again.files, again.changed, len(drawn)) == (first.snapshot, first.files, (), 1)


@pytest.mark.parametrize("name", ["p.md", "charts/p--bars.svg"])
@pytest.mark.parametrize("harm", ["changed", "gone", "beside"])
def test_a_file_that_somebody_changed_is_made_again(tmp_path: Path, name: str, harm: str, drawn: list[str]) -> None:
    """An edited or removed file comes back as it was, one of no page goes; only a harmed chart is drawn again."""
    path = guide.published("org/one")
    render.build(tmp_path, path)
    whole, place = texts(tmp_path), tmp_path / render.GUIDE
    if harm == "gone":
        (place / name).unlink()
    else:
        (place / (name if harm == "changed" else f"charts/x{Path(name).suffix}.svg")).write_text("mine")
    assert render.build(tmp_path, path).changed != ()
    assert texts(tmp_path) == whole
    assert len(drawn) == 1 if harm == "beside" else len(drawn) == 2


@pytest.mark.parametrize(
    "record", ["", "{", '{"stood_on": 1}', "[]", '{"stood_on": "", "pages": {}, "charts": {}, "x": 1}']
)
def test_a_damaged_record_keeps_nothing(tmp_path: Path, record: str) -> None:
    """Whatever stands in the record, the guide is right after the build, and the build after that is kept again."""
    path = guide.published("org/one")
    render.build(tmp_path, path)
    whole, place = texts(tmp_path), tmp_path / render.GUIDE
    (place.parent / kept.RECORD).write_text(record)
    assert kept.read(place) == kept.NOTHING
    render.build(tmp_path, path)
    assert texts(tmp_path) == whole
    assert kept.read(place) != kept.NOTHING


def test_a_chart_of_other_rows_alone_is_drawn_again(tmp_path: Path, drawn: list[str]) -> None:
    """A model that the chart does not show changes the page's count and not the chart; one that it shows, both."""
    render.build(tmp_path, guide.published("org/one"))
    render.build(tmp_path, guide.published("org/one", "other/two"))
    assert len(drawn) == 1
    assert texts(tmp_path)["p.md"].count(b"\n2\n![Layers") == 1
    path = guide.published("org/one", "org/three")
    render.build(tmp_path, path)
    assert len(drawn) == 2
    render.build(tmp_path / "fresh", path)
    assert texts(tmp_path) == texts(tmp_path / "fresh")


def test_code_or_a_page_source_that_changed_makes_all_again(
    tmp_path: Path, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the code draws its charts itself; another text of a page is written."""
    path = guide.published("org/one")
    render.build(tmp_path, path)
    source = page.folder() / "p.md"
    source.write_text(source.read_text() + "\nMore.\n")
    assert render.build(tmp_path, path).changed == ("p.md",)
    monkeypatch.setattr(kept, "code", lambda: "another")
    assert render.build(tmp_path, path).changed == ()
    assert len(drawn) == 2
