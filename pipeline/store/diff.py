"""What changed between two snapshots, and whose change it is.

A config that both hold is the same text: where its values differ, our rules have changed. A repository whose config
differs was changed on the Hub. Values are compared as stored, column by column, over the columns both snapshots have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from pipeline.store import shelf, snapshot
from pipeline.store.shelf import Entry
from schemas.tables import quoted
from schemas.vocabulary import Outcome

EXAMPLES = 5
_CURRENT = f"('{Outcome.OK}', '{Outcome.UNCHANGED}')"
_NOT_DERIVED = frozenset({"config_id", "raw", "raw_bytes", "size_bytes", "verdict"})
"""Columns of a config that are the text itself, and the verdict, which is told apart."""
_BY_DESIGN = ("layers", "parameters", "states")
_FACTS = ("reported", "checks", "disagreements", "measurements")
_WAYS = (("before", "after"), ("after", "before"))


class Example(msgspec.Struct, frozen=True):
    """One value that changed: of which model, from what, to what (as text; None is null)."""

    repo_id: str
    before: str | None
    after: str | None


class Change(msgspec.Struct, frozen=True):
    """A column that changed: in how many rows, and the first of them by name."""

    column: str
    rows: int
    examples: list[Example]


class Ours(msgspec.Struct, frozen=True):
    """Changes of our rules: of the configs both snapshots hold, and of the rows of designs both hold, by table.

    `verdicts` are configs with another verdict; `columns` leave out those that had no numbers before, or have none now.
    """

    configs: int
    changed: int
    verdicts: list[Example]
    columns: list[Change]
    designs: dict[str, int]


class Theirs(msgspec.Struct, frozen=True):
    """Changes on the Hub. `outcomes` leave out ok and unchanged, which say the same.

    `same_design` counts the changed `configs` that still describe the same structure.
    """

    added: list[str]
    removed: list[str]
    outcomes: list[Example]
    configs: list[str]
    same_design: int
    verdicts: list[Example]
    columns: list[Change]
    keys: list[Change] = []
    """Keys of the changed configs themselves, a dot between levels: what was written that the rest follows from."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.removed or self.outcomes or self.configs)


class Difference(msgspec.Struct, frozen=True):
    """Everything that changed from one snapshot to another, by cause, and the columns only one of them has.

    `hub` are changes of repositories (a folder's too), `catalogue` those of the models that come with the package,
    `ours` those of the rules. `facts` gives, for the tables of reported facts and measurements, how many rows are gone
    and how many are new.
    """

    before: str
    after: str
    code_versions: tuple[str, str]
    schema_versions: tuple[str, str]
    columns_gone: list[str]
    columns_new: list[str]
    hub: Theirs
    ours: Ours
    facts: dict[str, tuple[int, int]]
    catalogue: Theirs = Theirs([], [], [], [], 0, [], [])

    @property
    def is_empty(self) -> bool:
        """Whether the two say the same of every model; what the Hub counts daily, as downloads, is not looked at."""
        ours, listed = self.ours, not (self.hub.is_empty and self.catalogue.is_empty)
        return not (listed or ours.changed or any(ours.designs.values()) or any(map(any, self.facts.values())))


def diff(home: Path, before: str, after: str) -> Difference:
    """Hold two snapshots under the home against each other; raises `NotFound` or `Corrupt`."""
    (old, old_path), (new, new_path) = shelf.locate(home, before), shelf.locate(home, after)
    with both(old_path, new_path) as con:
        return _difference(con, old, new)


def of_files(before: Path, after: Path) -> Difference:
    """Hold two files of snapshots against each other; raises `Corrupt` for one that is none."""
    old, new = snapshot.proven(before), snapshot.proven(after)
    with both(before, after) as con:
        return _difference(con, old, new)


def _difference(con: duckdb.DuckDBPyConnection, old: Entry, new: Entry) -> Difference:
    gone, fresh = ([f"{t}.{c}" for t, c in _only(con, *pair)] for pair in (("before", "after"), ("after", "before")))
    versions = (old.code_version, new.code_version), (old.schema_version, new.schema_version)
    facts = {t: _rows(con, t) for t in _FACTS}
    hub, catalogue = theirs(con), theirs(con, of_catalogue=True)
    return Difference(old.id, new.id, *versions, gone, fresh, hub, ours(con), facts, catalogue)


@contextmanager
def both(before: Path, after: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Two snapshot files open side by side, read-only, with the values of every config in the views `b` and `a`."""
    with duckdb.connect(config={"temp_directory": "", "threads": 2}) as con:
        for name, path in (("before", before), ("after", after)):
            con.execute(f"ATTACH {quoted(str(path))} AS {name} (READ_ONLY)")
        with_constants = all(_has(con, name, CONSTANTS) for name in ("before", "after"))
        for name, view in (("before", "b"), ("after", "a")):
            more, joined = (", k.constants", _CONSTANTS.format(name=name)) if with_constants else ("", "")
            con.execute(
                f"CREATE TEMP VIEW {view} AS SELECT c.*, d.* EXCLUDE (design_id), r.kind AS refusal_kind,"
                f" r.reason AS refusal_reason, f.features{more} FROM {name}.configs c"
                f" LEFT JOIN {name}.designs d USING (design_id) LEFT JOIN {name}.refusals r USING (config_id)"
                " LEFT JOIN (SELECT config_id, list(feature ORDER BY feature) AS features"
                f" FROM {name}.features GROUP BY ALL) f USING (config_id){joined}"
            )
        con.execute("SET enable_external_access = false")
        yield con


def _has(con: duckdb.DuckDBPyConnection, name: str, table: str) -> bool:
    query = "SELECT count(*) FROM duckdb_tables() WHERE database_name = ? AND table_name = ?"
    return con.execute(query, [name, table]).fetchall()[0][0] > 0


CONSTANTS = "constants"
_CONSTANTS = (
    " LEFT JOIN (SELECT config_id, list(field || ' = ' || value ORDER BY field) AS constants"
    " FROM {name}.constants GROUP BY ALL) k USING (config_id)"
)


def ours(con: duckdb.DuckDBPyConnection) -> Ours:
    """What today's rules say otherwise of texts that both snapshots hold."""
    columns = _columns(con)
    differs = " OR ".join(_differs(c, same_type) for c, same_type in {**columns, "verdict": False}.items())
    # Every value is looked at once: what follows looks at the few configs that differ.
    con.execute(f"CREATE TEMP TABLE changed AS SELECT config_id FROM b JOIN a USING (config_id) WHERE {differs}")
    pairs = (
        "SELECT b, a, coalesce(m.repo_id, b.config_id) AS repo_id FROM changed JOIN b USING (config_id)"
        " JOIN a USING (config_id) LEFT JOIN (SELECT config_id, min(repo_id) AS repo_id FROM before.models"
        " GROUP BY ALL) m USING (config_id)"
    )
    return Ours(
        _one(con, "SELECT count(*) FROM before.configs JOIN after.configs USING (config_id)"),
        _one(con, "SELECT count(*) FROM changed"),
        _verdicts(con, pairs),
        _changes(con, pairs, columns),
        {t: _designs(con, t) for t in _BY_DESIGN},
    )


def theirs(con: duckdb.DuckDBPyConnection, *, of_catalogue: bool = False) -> Theirs:
    """What the listing, the repositories and their configs say otherwise; the catalogue's models, or all others."""
    of = f"{'=' if of_catalogue else '<>'} 'catalogue'"
    models = f"(FROM before.models) o JOIN (FROM after.models WHERE source {of}) n USING (repo_id)"
    changed = f"FROM {models} WHERE o.config_id IS NOT NULL AND n.config_id IS NOT NULL AND o.config_id <> n.config_id"
    outcomes = con.execute(
        f"SELECT repo_id, o.outcome::VARCHAR AS old, n.outcome::VARCHAR AS new FROM {models} WHERE old <> new"
        f" AND NOT (o.outcome IN {_CURRENT} AND n.outcome IN {_CURRENT}) ORDER BY repo_id"
    ).fetchall()
    pairs = (
        f"SELECT b, a, repo_id FROM (SELECT repo_id, o.config_id AS old, n.config_id AS new {changed}) "
        "JOIN b ON b.config_id = old JOIN a ON a.config_id = new"
    )
    texts = con.execute(f"SELECT repo_id, b.raw, a.raw FROM ({pairs}) ORDER BY repo_id").fetchall()
    return Theirs(
        _names(con, f"FROM (FROM after.models WHERE source {of}) ANTI JOIN before.models USING (repo_id)"),
        _names(con, f"FROM (FROM before.models WHERE source {of}) ANTI JOIN after.models USING (repo_id)"),
        [Example(*row) for row in outcomes],
        _names(con, changed),
        _one(con, f"SELECT count(*) FROM ({pairs}) WHERE b.design_id = a.design_id"),
        _verdicts(con, pairs),
        _changes(con, pairs, _columns(con)),
        keys(texts),
    )


def keys(texts: Iterable[tuple[str, str | None, str | None]]) -> list[Change]:
    """Which keys differ between pairs of configs, those of most repositories first; what is no JSON has none."""
    found: dict[str, list[Example]] = {}
    for repo_id, before, after in texts:
        old, new = _flat(before), _flat(after)
        for key in [k for k in {**old, **new} if old.get(k) != new.get(k)]:
            found.setdefault(key, []).append(Example(repo_id, old.get(key), new.get(key)))
    order = sorted(found, key=lambda k: (-len(found[k]), k))
    return [Change(k, len(found[k]), found[k][:EXAMPLES]) for k in order]


def _flat(text: str | None) -> dict[str, str]:
    """The values of a config by key, as JSON; a nested object's under both names."""
    try:
        read = msgspec.json.decode(text or "")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return dict(_levels(read, "")) if isinstance(read, dict) else {}


def _levels(read: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for key, value in read.items():
        if isinstance(value, dict) and value and path.count(".") < 4:
            yield from _levels(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", msgspec.json.encode(value).decode()


def _names(con: duckdb.DuckDBPyConnection, source: str) -> list[str]:
    return [name for (name,) in con.execute(f"SELECT repo_id {source} ORDER BY repo_id").fetchall()]


def _one(con: duckdb.DuckDBPyConnection, query: str) -> int:
    return con.execute(query).fetchall()[0][0]


def _columns(con: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """Derived columns that both have, and whether their types are the same."""
    old, new = ({n: k for n, k, *_ in con.execute(f"DESCRIBE {view}").fetchall()} for view in ("b", "a"))
    return {name: kind == new[name] for name, kind in old.items() if name in new and name not in _NOT_DERIVED}


def _differs(column: str, same_type: bool) -> str:  # noqa: FBT001 - read from a map of columns
    cast = "" if same_type else "::VARCHAR"
    return f'b."{column}"{cast} IS DISTINCT FROM a."{column}"{cast}'


def _changes(con: duckdb.DuckDBPyConnection, pairs: str, columns: dict[str, bool]) -> list[Change]:
    """The columns that differ, those of most rows first, among configs with numbers on both sides or on neither."""
    pairs = f"FROM ({pairs}) WHERE (b.design_id IS NULL) = (a.design_id IS NULL)"
    counts = ", ".join(f"count(*) FILTER ({_differs(c, kind)})" for c, kind in columns.items())
    found = dict(zip(columns, con.execute(f"SELECT {counts} {pairs}").fetchall()[0], strict=True))
    order = sorted((c for c, n in found.items() if n), key=lambda c: (-found[c], c))
    return [Change(c, found[c], _examples(con, pairs, c, _differs(c, columns[c]))) for c in order]


def _examples(con: duckdb.DuckDBPyConnection, pairs: str, column: str, differs: str) -> list[Example]:
    shown = [_shown(column, one, other) for one, other in (("b", "a"), ("a", "b"))]
    query = f"SELECT repo_id, {shown[0]}, {shown[1]} {pairs} AND {differs}"
    return [Example(*row) for row in con.execute(f"{query} ORDER BY repo_id LIMIT {EXAMPLES}").fetchall()]


def _shown(column: str, one: str, other: str) -> str:
    """A value as text; of constants only those that the other side has not."""
    if column != CONSTANTS:
        return f'{one}."{column}"::VARCHAR'
    return (
        f"array_to_string(list_filter(coalesce({one}.constants, []),"
        f" lambda c: NOT list_contains(coalesce({other}.constants, []), c)), ', ')"
    )


def _verdicts(con: duckdb.DuckDBPyConnection, pairs: str) -> list[Example]:
    query = f"SELECT repo_id, b.verdict::VARCHAR AS old, a.verdict::VARCHAR AS new FROM ({pairs}) WHERE old <> new"
    return [Example(*row) for row in con.execute(f"{query} ORDER BY repo_id").fetchall()]


def _designs(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Designs of both snapshots whose rows in a table differ."""
    names = _shared(con, table)
    old, new = (
        f"SELECT {names} FROM {name}.{table} WHERE design_id IN (FROM {other}.designs SELECT design_id)"
        for name, other in _WAYS
    )
    return _one(
        con, f"SELECT count(DISTINCT design_id) FROM (({old} EXCEPT ALL {new}) UNION ALL ({new} EXCEPT ALL {old}))"
    )


def _rows(con: duckdb.DuckDBPyConnection, table: str) -> tuple[int, int]:
    """How many rows of a table are gone, and how many are new."""
    names = _shared(con, table)
    old, new = (
        _one(con, f"SELECT count(*) FROM (SELECT {names} FROM {a}.{table} EXCEPT ALL SELECT {names} FROM {b}.{table})")
        for a, b in _WAYS
    )
    return old, new


def _shared(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """The columns of a table that both snapshots have."""
    old, new = ([column for column, *_ in con.execute(f"DESCRIBE {name}.{table}").fetchall()] for name, _ in _WAYS)
    return ", ".join(f'"{c}"' for c in old if c in new)


def _only(con: duckdb.DuckDBPyConnection, name: str, other: str) -> list[Any]:
    """(table, column) that one snapshot has and the other has not."""
    query = (
        "SELECT table_name, column_name FROM duckdb_columns() d WHERE database_name = ? AND schema_name = 'main'"
        " AND table_name IN (SELECT table_name FROM duckdb_tables()) AND NOT EXISTS"
        " (FROM duckdb_columns() e WHERE e.database_name = ? AND e.table_name = d.table_name"
        " AND e.column_name = d.column_name) ORDER BY ALL"
    )
    return con.execute(query, [name, other]).fetchall()
