"""Reads a snapshot for the guide: runs the queries of pages on it, beside tables of their counterfactuals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from atlas.derived import Derived
from pipeline.engines import agreement
from pipeline.errors import Corrupt, Invalid
from pipeline.guide import counterfactual, reserving
from pipeline.guide.bind import Row, Trace, bound
from pipeline.guide.counterfactual import Counterfactual
from pipeline.guide.page import Page, WhatIf
from pipeline.guide.reserving import Reserve
from pipeline.store import cite
from pipeline.store.build import WHOLE
from schemas.fields import FINGERPRINT, Kind
from schemas.tables import quoted

_SCALAR: dict[Kind, str] = {"text": "VARCHAR", "int": "BIGINT", "real": "DOUBLE", "flag": "BOOLEAN"}
COLUMNS = tuple(f for f in FINGERPRINT if f.kind in _SCALAR and f.name != "repo_id")
STATES = ("kind", "repeats", "elements", "stride", "window", "width_bytes")


class Snapshot:
    """An open snapshot, read-only, with `what_if`, `what_if_states`, `reserves` and `agreements` beside it."""

    def __init__(self, con: duckdb.DuckDBPyConnection, exemplars: tuple[str, ...], cited: str) -> None:
        self._con = con
        self.exemplars = exemplars
        whole = con.execute(
            "SELECT snapshot_id, source, code_version, schema_version FROM snapshot WHERE name = ?", [WHOLE]
        ).fetchall()
        if len(whole) != 1:
            raise Corrupt("the snapshot has no manifest: it is not complete")
        self._whole = (*whole[0], cited)
        self.id: str = whole[0][0]
        self.source: str = whole[0][1]
        self._refused: dict[tuple[str | None, str], str] = {}

    def about(self, traces: list[Trace]) -> Row:
        """What the manifest says of the snapshot."""
        columns = ("snapshot", "source", "code_version", "schema_version", "cited")
        return bound("snapshot", columns, [self._whole], traces)[0]

    def rows(self, name: str, sql: str, traces: list[Trace]) -> list[Row]:
        """Run one query of a page. Raises `Invalid`, naming the query, where DuckDB does not accept it."""
        try:
            result = self._con.execute(sql)
            columns = [d[0] for d in result.description or ()]
            return bound(name, columns, result.fetchall(), traces)
        except duckdb.Error as error:
            raise Invalid(f"query {name} fails: {str(error).splitlines()[0]}") from error

    def require(self, page: Page) -> None:
        """Raise `Invalid` where a model or a counterfactual of the page is missing or refused."""
        for repo in page.models:
            found = self._con.execute(
                "SELECT verdict, refusal_kind, refusal_reason FROM fingerprints WHERE repo_id = ?", [repo]
            ).fetchall()
            if not found:
                raise Invalid(f"{repo} is not in snapshot {self.id}")
            if found[0][0] == "refused":
                raise Invalid(f"{repo} is refused in snapshot {self.id}: {found[0][1]}, {found[0][2]}")
        for wanted in page.front.what_if:
            reason = self._refused.get((wanted.base, wanted.label))
            if reason:
                raise Invalid(reason)
        for asked, base in ((r, b) for r in page.front.reserve for b in r.bases):
            if reason := self._refused.get((base, asked.label)):
                raise Invalid(reason)

    def add_what_ifs(self, wanted: list[WhatIf]) -> None:
        """Derive the counterfactuals of all pages into the tables beside the snapshot."""
        columns = ", ".join(f'"{f.name}" {_SCALAR[f.kind]}' for f in COLUMNS)
        self._con.execute(f"CREATE TEMP TABLE what_if (label VARCHAR, base VARCHAR, changes VARCHAR, {columns})")
        self._con.execute(
            "CREATE TEMP TABLE what_if_states (label VARCHAR, base VARCHAR, kind VARCHAR, repeats BIGINT,"
            ' elements BIGINT, stride BIGINT, "window" BIGINT, width_bytes BIGINT)'
        )
        for each in dict.fromkeys((w.label, w.base, w.change, msgspec.json.encode(w.config)) for w in wanted):
            self._add(WhatIf(each[0], each[1], each[2], msgspec.json.decode(each[3])))

    def _add(self, wanted: WhatIf) -> None:
        try:
            made = self._derived(wanted)
        except (Invalid, KeyError) as error:
            self._refused[wanted.base, wanted.label] = f"what-if {wanted.label!r} of {wanted.base}: {error}"
            return
        f = made.derived.fingerprint
        values: list[Any] = [wanted.label, wanted.base, made.told, *(getattr(f, c.name) for c in COLUMNS)]
        self._insert("what_if", values)
        for state in _states(made):
            self._insert("what_if_states", [wanted.label, wanted.base, *state])

    def _derived(self, wanted: WhatIf) -> Counterfactual:
        if wanted.config is not None:
            return counterfactual.toy(wanted.config)
        found = self._con.execute(
            "SELECT raw FROM models JOIN configs USING (config_id) WHERE repo_id = ? AND raw IS NOT NULL", [wanted.base]
        ).fetchall()
        if not found or wanted.change is None:
            raise Invalid(f"{wanted.base} has no config in snapshot {self.id}")
        return counterfactual.made(found[0][0], wanted.change)

    def derived(self, repo: str) -> Derived:
        """A model of the snapshot, derived from its stored text. Raises `Invalid` where there is none."""
        from atlas import proof
        from atlas.interpret import derive

        found = self._con.execute(
            "SELECT raw, design_id FROM models JOIN configs USING (config_id) WHERE repo_id = ? AND raw IS NOT NULL",
            [repo],
        ).fetchall()
        if not found:
            raise Invalid(f"{repo} has no config in snapshot {self.id}")
        raw, design_id = found[0]
        return proof.published(derive(raw.encode(), name=repo), design_id)

    def add_reserves(self, wanted: list[Reserve]) -> None:
        """Put what engines make of the pages' models, and how the rules agree with logs, beside the snapshot."""
        self._con.execute(f"CREATE TEMP TABLE reserves ({reserving.COLUMNS})")
        self._con.execute(
            "CREATE TEMP TABLE agreements (kind VARCHAR, engine VARCHAR, name VARCHAR, logs BIGINT, inside BIGINT,"
            " figures BIGINT, figures_inside BIGINT, apart DOUBLE)"
        )
        for row in agreement.rows():
            self._insert("agreements", list(row))
        for each, base in ((w, b) for w in wanted for b in w.bases):
            try:
                found = self.derived(base)
            except Invalid as error:
                self._refused[base, each.label] = f"what {each.engine} reserves for {base}: {error}"
                continue
            for row in reserving.sizes(each, base, found):
                self._insert("reserves", list(row))

    def _insert(self, table: str, values: list[Any]) -> None:
        self._con.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def _states(made: Counterfactual) -> Iterator[tuple[Any, ...]]:
    from atlas.numbers.tabulate import state_rows

    assert made.derived.model is not None  # noqa: S101 - a refused counterfactual was raised before
    for row in state_rows(made.derived.model):
        yield tuple(row[c] for c in STATES)


def named(path: Path) -> str:
    """The id in a snapshot's manifest."""
    return _whole(path)[0]


def digest(path: Path) -> bytes:
    """The digest in a snapshot's manifest: equal for equal tables, and with its id and code, equal for equal guides."""
    return repr(_whole(path)).encode()


def _whole(path: Path) -> tuple[str, ...]:
    with duckdb.connect(str(path), read_only=True) as con:
        found = con.execute(
            "SELECT snapshot_id, source, code_version, schema_version, digest FROM snapshot WHERE name = ?", [WHOLE]
        ).fetchall()
    if len(found) != 1:
        raise Corrupt("the snapshot has no manifest: it is not complete")
    return found[0]


@contextmanager
def opened(path: Path, pages: list[Page]) -> Iterator[Snapshot]:
    """Open a snapshot for the pages; one thread, so that sums of fractions come out the same every time."""
    config = {
        "threads": 1,
        "temp_directory": "",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    cited = cite.cited(path)
    with duckdb.connect(config=config) as con:
        con.execute(f"ATTACH {quoted(str(path))} AS atlas (READ_ONLY)")
        con.execute("USE atlas")
        con.execute("SET enable_external_access = false")
        snapshot = Snapshot(con, tuple(sorted({repo for p in pages for repo in p.front.exemplars})), cite.line(cited))
        snapshot.add_what_ifs([w for p in pages for w in p.front.what_if])
        snapshot.add_reserves([r for p in pages for r in p.front.reserve])
        yield snapshot
