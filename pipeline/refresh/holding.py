"""Totals of the catalogue and of the Hub held against ours: rows of `checks` and `disagreements`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any

from atlas import proof
from atlas.checkpoint.totals import TotalCheck, as_stated, check_total, disagreement, extras, in_name
from atlas.derived import Derived
from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.storage import StoredRow
from atlas.stored.sums import named_sum
from pipeline.sources import catalogue
from pipeline.sources.catalogue import Content, Entry, Expected, Fact
from pipeline.store.columns import Columns
from pipeline.store.staged import Staged
from schemas.registry import CHECKS, CONFIGS, DESIGNS, MODELS, STORED
from schemas.tables import quoted
from schemas.vocabulary import Check

Row = dict[str, Any]
HUB_COUNT = "the Hub's count of the safetensors headers"
KIND = "published_total"
MANY = 500
"""Rows with a text each that are fetched at a time."""


@cache
def of_catalogue() -> Mapping[bytes, Derived]:
    """The catalogue's texts, each derived once in a process: for its rows and for what is held against them."""
    return {entry.raw: derive(entry.raw) for entry in catalogue.load()}


def deciding_totals() -> Mapping[str, int]:
    """The published totals of the catalogue's texts that can be read in two ways, by config_id."""
    known = of_catalogue()
    stated = ((known.get(e.raw), e.raw, e.expect.params_total) for e in catalogue.load() if e.expect)
    return {hashlib.sha256(raw).hexdigest(): total for derived, raw, total in stated if derived and derived.readings}


def rows(entries: list[Entry]) -> dict[str, list[Row]]:
    """The rows that the catalogue's entries give; a refused config gives none."""
    known = of_catalogue()
    plain = ((e, known.get(e.raw) or derive(e.raw)) for e in entries)
    found = [(e, _read(e, d)) for e, d in plain if d.model is not None]
    return {
        "checks": [row for e, d in found if (row := check(e, d)) is not None],
        "disagreements": [row for e, d in found for row in disagreements(e.repo, d.fingerprint, _facts(e))],
    }


def _read(entry: Entry, derived: Derived) -> Derived:
    """The reading that the entry's published total proves."""
    return proof.decided(derived, entry.expect.params_total) if entry.expect else derived


def check(entry: Entry, derived: Derived) -> Row | None:
    """The entry's published total against ours; one that counts packed elements stays unchecked."""
    if entry.expect is None:
        return None
    row = total_row(entry.repo, derived, entry.expect.params_total, KIND, entry.expect.source)
    if row is not None and row["result"] != Check.EXACT:
        row |= _less(derived, entry.expect)
    if row is not None and Content.PACKED in entry.expect.holds:
        row |= {
            "result": Check.UNCHECKED.value,
            "note": "packed quantization: the published figure is no count of weights",
        }
    return row


def _less(derived: Derived, expect: Expected) -> Row:
    """What to say of the row where the figure, less what is counted beside the model, is ours to the last weight."""
    found = check_total(derived, expect.params_total - sum(b.elements for b in expect.beside))
    if not expect.beside or found.check is not Check.EXACT:
        return {}
    words = [f"{b.what.value} included, {b.source}: {b.elements:+,}" for b in expect.beside]
    return {"result": found.check.value, "note": "; ".join([*words, *filter(None, [found.note])])}


def _facts(entry: Entry) -> list[tuple[str, int, str]]:
    """The totals that the entry's sources state, each source once."""
    found = {
        (r.fact.value, r.citation): r.value
        for r in entry.reported
        if r.fact in (Fact.PARAMS_TOTAL, Fact.PARAMS_ACTIVE) and isinstance(r.value, int)
    }
    return [(fact, value, citation) for (fact, citation), value in found.items()]


def hold_hub_totals(staged: Staged) -> None:
    """Add to `checks` what the Hub counted in safetensors headers, held against ours; nothing for a refused config.

    Equal totals are exact as they are. For others the config is derived once more, so that the difference is explained
    by arithmetic (a head stored twice, drafting layers, towers, packed weights, what a repository holds by its own
    settings) or called off.
    """
    of = " JOIN ".join(
        (
            f"FROM (SELECT * FROM {staged.table(MODELS.name)} WHERE hub_params_total IS NOT NULL)",
            f"(SELECT config_id, design_id, raw FROM {staged.table(CONFIGS.name)}) USING (config_id)",
            f"(SELECT design_id, params_total FROM {staged.table(DESIGNS.name)}) USING (design_id)",
        )
    )
    plain = "(hub_params_total = params_total OR raw IS NULL)"
    result = f"if(hub_params_total = params_total, '{Check.EXACT}', '{Check.UNCHECKED}')"
    staged.run(
        CHECKS.name,
        f"SELECT repo_id, 'safetensors_total' AS kind, hub_params_total AS expected, params_total AS derived,"
        f" {result} AS result, NULL::VARCHAR AS note, {quoted(HUB_COUNT)} AS source {of} WHERE {plain}",
    )
    rows = ", ".join(f'"{name}"' for name in StoredRow.__struct_fields__)
    held = f"(SELECT subject, list(row({rows})) AS held FROM {staged.table(STORED.name)} GROUP BY subject)"
    columns = Columns(CHECKS, partial(staged.add, CHECKS.name))
    with staged.open() as con:
        found = con.execute(
            f"SELECT repo_id, raw, params_total, hub_params_total, hub_params_by_dtype, held {of} LEFT JOIN {held}"
            f" ON subject = repo_id WHERE NOT {plain} ORDER BY config_id, repo_id"
        )
        while rows := found.fetchmany(MANY):
            for row in rows:
                if (made := _explained(*row)) is not None:
                    columns.add(tuple(made[c] for c in CHECKS.columns))
    columns.flush()


@lru_cache(maxsize=64)
def _derived(raw: str) -> Derived:
    return derive(raw.encode())


def _explained(
    repo_id: str,
    raw: str,
    total: int,
    stated: int,
    by_dtype: list[dict[str, Any]] | None,
    held: list[tuple[Any, ...]] | None,
) -> Row | None:
    stored = None if held is None else [StoredRow(*each) for each in held]
    try:
        made = proof.decided(_derived(raw), stated)
        return total_row(repo_id, made, {e["key"]: e["value"] for e in by_dtype or []} or stated, stored=stored)
    except Exception as error:  # noqa: BLE001 - what one stranger counted ends no refresh
        note = f"it could not be explained: {type(error).__name__}"
        return _plainly(repo_id, stated, total) | {"note": note}


def _plainly(repo_id: str, stated: int, total: int) -> Row:
    result = Check.EXACT if stated == total else Check.UNCHECKED
    return {
        "repo_id": repo_id,
        "kind": "safetensors_total",
        "expected": stated,
        "derived": total,
        "result": result.value,
        "note": None,
        "source": HUB_COUNT,
    }


def _by_storage(derived: Derived, found: TotalCheck, rows: Iterable[StoredRow]) -> TotalCheck:
    """The same, explained where one sum of what the files hold by rule is the total."""
    held = tuple(rows)
    if derived.model is None or all(r.scheme == "unquantized" for r in held):
        return found
    drafts = sum(r.elements for r in held if r.group == "drafts" and r.elements is not None)
    named = [(e.words, e.elements) for e in extras(derived.model, derived.fingerprint) if e.words in _BESIDE]
    note = named_sum(held, found.expected, [("drafting layers left out", -drafts), *named])
    return found if note is None else TotalCheck("explained", found.expected, found.derived, note)


_BESIDE = (
    "tied head stored twice", "router correction biases left out", "the MTP layers' router correction biases left out",
)  # fmt: skip


def total_row(
    repo_id: str,
    derived: Derived,
    total: Mapping[str, int] | int,
    kind: str = "safetensors_total",
    source: str = HUB_COUNT,
    stored: Iterable[StoredRow] | None = None,
) -> Row | None:
    """The row of `checks` for a total that the Hub states; None where the config was refused."""
    if derived.model is None:
        return None
    found = check_total(derived, total)
    if found.check is not Check.EXACT:
        found = _by_storage(derived, found, derived.stored.rows if stored is None else stored)
    return {
        "repo_id": repo_id,
        "kind": kind,
        "expected": found.expected,
        "derived": found.derived,
        "result": found.check.value,
        "note": found.note,
        "source": source,
    }


def disagreements(repo_id: str, f: Fingerprint, reported: Iterable[tuple[str, int, str]] = ()) -> Iterator[Row]:
    """Rows of `disagreements`: the name's total, and reported (fact, value, source) ones, where they are not ours."""
    stated = [(s, "its name") for s in in_name(repo_id)]
    stated += [
        (as_stated(fact, value), source)
        for fact, value, source in reported
        if fact in ("params_total", "params_active")
    ]
    for each, tool in stated:
        row = disagreement(repo_id, f, each, tool)
        if row is not None:
            yield row
