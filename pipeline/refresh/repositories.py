"""What a repository has beyond its config: settings files, the Hub's counts by type, and headers; as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import polars as pl

from atlas.derived import Derived
from atlas.interpret import derive, reader
from atlas.numbers.fingerprint import Evidence
from atlas.numbers.storage import StoredRow
from atlas.parse import load
from atlas.refusal import Refused
from atlas.stored import plain
from atlas.stored.form import Unsaid
from atlas.stored.held import by_dtype, rows
from atlas.stored.settings import settings_of
from atlas.stored.subject import Subject
from pipeline.errors import Invalid
from pipeline.sources.beside import Beside, settings, weighed
from schemas.registry import STORED
from schemas.tables import polars_schema
from schemas.vocabulary import StoredEvidence, Verdict

Files = Iterable[tuple[str, bytes]]


def stored(raw: bytes, derived: Derived | None, files: Files, counts: Mapping[str, int]) -> tuple[StoredRow, ...]:
    """The rows of table `stored` that a repository's settings files, or the Hub's counts, give beyond its config."""
    beside = dict(_read(files))
    if not beside:
        return counted(raw, derived, counts) if counts else ()
    found = derive(raw) if derived is None else derived
    made = weighed(found, raw, Beside(beside)).stored
    return () if made == found.stored else made.rows


def _read(files: Files) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The settings files that can be read; one that cannot is as if it were not there."""
    for name, content in files:
        try:
            yield name, settings(content, name)
        except Invalid:
            continue


def counted(raw: bytes, derived: Derived | None, counts: Mapping[str, int]) -> tuple[StoredRow, ...]:
    """What an unquantized checkpoint holds where one sum of its parts is the Hub's count of every type, to the unit."""
    try:
        data = load(raw)
        if settings_of(data) is not None:
            return ()
        subject = _subject(derive(raw) if derived is None else derived, data)
        possible = () if subject is None else plain.possible(subject)
        made = (rows(held, StoredEvidence.HUB.value) for held in possible)
        return next((each for each in made if by_dtype(each) == dict(counts)), ())
    except (Unsaid, Refused):
        return ()


def _subject(found: Derived, data: dict[str, Any]) -> Subject | None:
    row = found.fingerprint
    if found.model is None or (row.has_towers and row.params_towers is None):
        return None
    return Subject(found.model, reader(data).rules, data, found.towers, row.params_mtp)


def of_headers(repo_id: str, found: tuple[StoredRow, ...]) -> pl.DataFrame:
    """The rows of table `stored` that a repository's headers give."""
    made = [(repo_id, *msgspec.structs.astuple(r)) for r in found]
    return pl.DataFrame(made, schema=polars_schema(STORED), orient="row")


def measured(config: pl.DataFrame, weights: int | None, found: Iterable[Evidence]) -> pl.DataFrame:
    """The row of a config that one repository alone has, with the verdict `measured` and its weights."""
    evidence = [
        {"field": e.field, "value": msgspec.json.encode(e.value).decode(), "origin": str(e.origin), "source": e.source}
        for e in found
        if e.field == "params_checkpoint"
    ]
    row = config.to_dicts()[0]
    row |= {"verdict": Verdict.MEASURED.value, "params_checkpoint": weights, "evidence": evidence}
    return pl.DataFrame([row], schema=config.schema)
