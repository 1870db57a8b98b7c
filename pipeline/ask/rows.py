"""A model as the atlas holds it: the row of a snapshot, or the entry of the embedded catalogue."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pipeline.ask.found import Found
from pipeline.errors import NotFound
from pipeline.text import terminal


class Held(NamedTuple):
    """What a snapshot's file holds as a whole: the names of its models, and the line to cite it by."""

    names: tuple[str, ...]
    cite: str


def held(path: Path) -> Held:
    """The names and the line of a snapshot's file; read once for a file that stays as it is."""
    stat = path.stat()
    return _held(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _held(path: Path, _written: int, _size: int) -> Held:
    import duckdb

    from pipeline.store import cite

    with duckdb.connect(str(path), read_only=True) as con:
        names = con.execute("SELECT repo_id FROM models ORDER BY repo_id").fetchall()
        return Held(tuple(n for (n,) in names), cite.line(cite.of(con)))


def of_catalogue(repo: str) -> Found:
    """A model of the embedded catalogue."""
    from pipeline.sources import catalogue

    entry = next(e for e in catalogue.load() if e.repo == repo)
    reported = tuple((r.fact.value, str(r.value), r.unit, r.citation) for r in entry.reported)
    return Found(
        name=repo, source=f"the catalogue of {catalogue.dated()}", raw=entry.raw, as_of=str(entry.retrieved),
        reported=reported, config_source="catalogue",
    )  # fmt: skip


def of_snapshot(repo: str, snapshot: str, path: Path) -> Found:
    """A model of a snapshot's file; raises `NotFound` where no config of it was ever read."""
    import duckdb

    with duckdb.connect(str(path), read_only=True) as con:
        row = con.execute(
            "SELECT m.config_id, c.raw, c.raw_bytes, c.design_id, m.as_of::VARCHAR, m.source, m.outcome, m.revision, "
            "f.check FROM models m LEFT JOIN configs c USING (config_id) LEFT JOIN fingerprints f USING (repo_id) "
            "WHERE m.repo_id = ?",
            [repo],
        ).fetchall()[0]
        reported = con.execute(
            "SELECT fact, value, unit, citation FROM reported WHERE repo_id = ? ORDER BY fact, citation", [repo]
        ).fetchall()
    config_id, text, data, design_id, as_of, source, outcome, revision, check = row
    if config_id is None:
        raise NotFound(f"{terminal(repo)} is in snapshot {snapshot}, but no config of it was ever read ({outcome})")
    return Found(
        name=repo, source=f"snapshot {snapshot}", raw=data if text is None else text.encode(), snapshot=snapshot,
        design_id=design_id, as_of=as_of, config_source=source, reported=tuple(reported), revision=revision,
        check=None if check is None else str(check), cite=held(path).cite,
    )  # fmt: skip
