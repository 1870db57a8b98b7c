"""Integrity of a finished snapshot: rules across rows and tables, each a query that finds the rows that break it.

The sums over `parameters` and `states` are a second, independent fold: they are written in SQL and share no code with
`atlas/numbers/measure.py`. A rule that holds returns nothing; one that fails returns a label per offending row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from schemas import parallel
from schemas.fields import OF_CONFIGS, SUMMED
from schemas.registry import CONTENT, TABLES
from schemas.vocabulary import APART, Component, Origin, Outcome, Role, Sighting, StateKind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXAMPLES = 5
"""Offending rows a message shows."""


class Rule(NamedTuple):
    """`query` gives one text per row that breaks the rule; `says` finishes the sentence "in this table, ...".

    Where it is a condition on the rows of a relation, `rows` and `wrong` are both: those that look at the same rows are
    asked together, and only who is broken gives its texts.
    """

    table: str
    says: str
    query: str
    rows: str | None = None
    wrong: str | None = None


class Failure(NamedTuple):
    """A broken rule: how many rows break it, and the first of them."""

    table: str
    says: str
    rows: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        """Table, rule, number of rows, first five examples."""
        shown = "; ".join(e if len(e) <= 160 else f"{e[:159]}…" for e in self.examples)
        return f"table {self.table}: {self.rows:,} row(s) break the rule that {self.says}: {shown}"


def failures(con: DuckDBPyConnection) -> list[Failure]:
    """Every rule of `rules()` that the open snapshot breaks."""
    found = rules()
    together: dict[str, list[Rule]] = {}
    for rule in found:
        if rule.rows:
            together.setdefault(rule.rows, []).append(rule)
    hold = {rule for rows, alike in together.items() for rule in _hold(con, rows, alike)}
    return [f for f in (_broken(con, r) for r in found if r not in hold) if f is not None]


def _hold(con: DuckDBPyConnection, rows: str, alike: list[Rule]) -> list[Rule]:
    """The rules over the same rows that none of them breaks."""
    wrong = con.execute(f"SELECT {', '.join(f'bool_or({r.wrong})' for r in alike)} FROM {rows}").fetchall()[0]
    return [rule for rule, is_broken in zip(alike, wrong, strict=True) if not is_broken]


def _broken(con: DuckDBPyConnection, rule: Rule) -> Failure | None:
    found = con.execute(
        f"WITH broken(label) AS ({rule.query})"
        f" SELECT count(*), (SELECT list(label) FROM (FROM broken LIMIT {EXAMPLES})) FROM broken"
    ).fetchone()
    if found is None or found[0] == 0:
        return None
    return Failure(rule.table, rule.says, found[0], tuple(str(label) for label in found[1]))


def rules() -> list[Rule]:
    """All rules, in the order they are checked."""
    return [
        *_keys(),
        *_minimum(),
        *_references(),
        *_stored(),
        *_identity(),
        *_sightings(),
        *_parameters(),
        *_states(),
        *_parallel(),
        *_shape(),
        *_manifest(),
    ]


def _keys() -> Iterator[Rule]:
    for table in TABLES.values():
        if table.name == "snapshot":
            continue
        label, row = " || ' ' || ".join(f'"{k}"' for k in table.key), ", ".join(f'"{k}"' for k in table.key)
        query = (
            f"SELECT {label} FROM (SELECT *, lag(row({row})) OVER (ORDER BY rowid) AS before FROM {table.name})"
            f" WHERE row({row}) <= before"
        )
        yield Rule(table.name, f"rows are unique and ordered by {', '.join(table.key)}", query)


def _minimum() -> Iterator[Rule]:
    for table in TABLES.values():
        if table.least_rows:
            query = f"SELECT 'it has ' || count(*) FROM {table.name} HAVING count(*) < {table.least_rows}"
            yield Rule(table.name, f"there is at least {table.least_rows} row", query)


_REFERENCES = (
    ("models", "config_id", "configs"),
    ("configs", "config_id", "models"),
    ("configs", "design_id", "designs"),
    ("designs", "design_id", "configs"),
    ("designs", "design_id", "layers"),
    ("designs", "design_id", "parameters"),
    ("layers", "design_id", "designs"),
    ("parameters", "design_id", "designs"),
    ("states", "design_id", "designs"),
    ("refusals", "config_id", "configs"),
    ("features", "config_id", "configs"),
    ("constants", "config_id", "configs"),
    ("reported", "repo_id", "models"),
    ("checks", "repo_id", "models"),
    ("disagreements", "repo_id", "models"),
    ("runs", "repo_id", "models"),
    ("models", "repo_id", "runs"),
)


def _references() -> Iterator[Rule]:
    for table, column, other in _REFERENCES:
        query = f"SELECT DISTINCT {column} FROM {table} ANTI JOIN {other} USING ({column}) WHERE {column} IS NOT NULL"
        yield Rule(table, f"every {column} is in {other}", query)


def _stored() -> Iterator[Rule]:
    yield Rule(
        "stored",
        "every subject is a config or a repository",
        "SELECT DISTINCT subject FROM stored WHERE subject NOT IN (SELECT config_id FROM configs)"
        " AND subject NOT IN (SELECT repo_id FROM models)",
    )
    yield Rule(
        "stored",
        "bytes sum to weight_bytes_checkpoint, where there is one",
        "SELECT config_id FROM configs LEFT JOIN (SELECT subject, sum(bytes) AS found FROM stored GROUP BY subject)"
        " ON subject = config_id WHERE weight_bytes_checkpoint IS NOT NULL AND found IS DISTINCT FROM"
        " weight_bytes_checkpoint",
    )
    yield Rule(
        "stored",
        "a derived config has its stored bytes or the reason why not, never both",
        "SELECT config_id FROM configs WHERE design_id IS NOT NULL"
        " AND (weight_bytes_checkpoint IS NULL) = (stored_reason IS NULL)",
    )


_WITH_CONFIG = f"('{Outcome.OK}', '{Outcome.UNCHANGED}')"


def _identity() -> Iterator[Rule]:
    yield Rule(
        "configs",
        "the raw text has the digest and length the row says",
        "SELECT config_id FROM (SELECT config_id, size_bytes, coalesce(encode(raw), raw_bytes) AS kept FROM configs)"
        " WHERE kept IS NOT NULL AND (sha256(kept) <> config_id OR octet_length(kept) <> size_bytes)",
    )
    yield Rule(
        "configs",
        "a config is refused with a reason or has a design, never both and never neither",
        "SELECT config_id FROM configs LEFT JOIN refusals USING (config_id)"
        " WHERE (verdict IN ('refused', 'measured')) = (design_id IS NOT NULL)"
        " OR (verdict IN ('refused', 'measured')) = (refusals.kind IS NULL)",
    )
    yield Rule(
        "configs",
        "a derived config has evidence, whole and of known origin",
        "SELECT config_id FROM configs WHERE (design_id IS NOT NULL AND len(evidence) = 0) OR len(list_filter(evidence,"
        " lambda e: e.field IS NULL OR e.value IS NULL OR e.source IS NULL OR e.origin IS NULL"
        f" OR e.origin NOT IN ({_listed(Origin)}))) > 0",
    )
    yield Rule(
        "models",
        "a repository that ended well has a config",
        f"SELECT repo_id FROM models WHERE outcome IN {_WITH_CONFIG} AND config_id IS NULL",
    )
    yield Rule(
        "models",
        "unchanged is what happened on a day, and stands in runs",
        f"SELECT repo_id FROM models WHERE outcome = '{Outcome.UNCHANGED}'",
    )
    yield Rule(
        "models",
        "a config was seen on a day",
        "SELECT repo_id FROM models WHERE (config_id IS NULL) <> (as_of IS NULL)",
    )


_SEEN = " UNION ALL ".join(
    f"SELECT '{kind}' AS kind, coalesce(model_type, '(none)') AS model_type, {name} AS name, config_id FROM configs"
    for kind, name in (
        (Sighting.MODEL_TYPE, "model_type"),
        (Sighting.CLASS, "architecture_class"),
        (Sighting.KEY, "unnest(unread)"),
    )
)
_TOLD = ("configs", "models", "downloads")


def _sightings() -> Iterator[Rule]:
    differs = " OR ".join(
        f"s.{n} IS DISTINCT FROM {f'coalesce(f.{n}, 0)' if n != 'downloads' else f'f.{n}'}" for n in _TOLD
    )
    yield Rule(
        "sightings",
        "whatever a config of a repository has is counted, and nothing else",
        f"WITH seen AS ({_SEEN}), f AS (SELECT kind, model_type, name, count(DISTINCT config_id) AS configs, count(*)"
        " AS models, sum(downloads)::BIGINT AS downloads FROM seen JOIN models USING (config_id) WHERE name IS NOT NULL"
        " GROUP BY ALL) SELECT concat_ws(' ', kind, model_type, name) FROM f FULL JOIN sightings s"
        f" USING (kind, model_type, name) WHERE {differs}",
    )
    yield Rule(
        "sightings",
        "nothing was first seen after the snapshot's day",
        "SELECT concat_ws(' ', kind, model_type, name) FROM sightings WHERE first_seen >"
        " (SELECT try_cast(left(any_value(snapshot_id), 10) AS DATE) FROM snapshot WHERE name = 'snapshot')",
    )


def _listed(words: type[Origin | Component]) -> str:
    return ", ".join(f"'{w}'" for w in words)


_APART_COLUMNS = {f"params_{c}" for c in APART if c not in OF_CONFIGS}
"""Weights beside the language model may be unknown: null, and then no row of `parameters` either."""

_APART = ", ".join(f"'{c}'" for c in sorted(APART))
_USED = (
    "CASE WHEN choices IS NULL THEN touched * elements"
    " ELSE (2 * touched * stored * elements + choices) // (2 * choices) END"
)
"""Weights one token uses on average, to the nearest whole one."""
_ALL = f"coalesce(sum(repeats * stored * elements) FILTER (component NOT IN ({_APART})), 0)"
_ACTIVE = f"coalesce(sum(repeats * least(stored * elements, {_USED})) FILTER (component NOT IN ({_APART})), 0)"
_MOST = f"sum(repeats * least(stored, touched) * elements) FILTER (component NOT IN ({_APART}))"
_OF_SOURCE = f"sum(repeats * {_USED}) FILTER (component NOT IN ({_APART}) AND role = '{Role.SOURCE}')"
_SUMS: dict[str, str] = {
    "params_total": _ALL,
    "params_active": _ACTIVE,
    "params_active_compute": (
        f"coalesce(sum(repeats * {_USED}) FILTER (component NOT IN ({_APART}) AND role = '{Role.MATMUL}'), 0)"
    ),
    **{
        f"params_{c}": f"coalesce(sum(repeats * stored * elements) FILTER (component = '{c}'), 0)"
        for c in Component
        if c not in OF_CONFIGS
    },
    "params_active_max": f"nullif({_MOST}, {_ACTIVE})",
    "source_flops_per_token": f"nullif(2 * coalesce({_OF_SOURCE}, 0), 0)",
}


def _parameters() -> Iterator[Rule]:
    yield from _folds("parameters", _SUMS)
    parts = " + ".join(f"params_{c}" for c in SUMMED)
    yield _design_rule("the components sum to params_total exactly", f"params_total IS DISTINCT FROM {parts}")
    shares = " + ".join(f"share_{c}" for c in SUMMED)
    wrong = " OR ".join(f"abs(share_{c} - params_{c} / params_total) > 1e-12" for c in SUMMED)
    yield _design_rule("the shares sum to 1", f"params_total > 0 AND coalesce(abs({shares} - 1) > 1e-9, true)")
    yield _design_rule("each share is its component / params_total", f"params_total > 0 AND ({wrong})")
    yield _design_rule(
        "flops_per_token is 2 x params_active_compute", "flops_per_token IS DISTINCT FROM 2 * params_active_compute"
    )
    yield _design_rule("params_active is at most params_active_max", "params_active >= params_active_max")
    yield _design_rule("weight_bytes_bf16 is 2 x params_total", "weight_bytes_bf16 IS DISTINCT FROM 2 * params_total")
    yield Rule(
        "parameters",
        "elements is the product of the shape",
        "SELECT design_id || ' ' || name FROM parameters"
        " WHERE elements <> list_reduce(list_prepend(1::BIGINT, shape), lambda a, b: a * b)",
    )


def _folds(table: str, sums: Mapping[str, str]) -> Iterator[Rule]:
    """Columns of `designs` that equal sums over the rows of another table; whole numbers agree exactly."""
    folded = ", ".join(f'{fold} AS "of_{column}"' for column, fold in sums.items())
    rows = f"designs d LEFT JOIN (SELECT design_id, {folded} FROM {table} GROUP BY design_id) f USING (design_id)"
    for column in sums:
        ours, theirs = f"d.{column}", f"f.of_{column}"
        wrong = f"({ours} IS NULL) <> ({theirs} IS NULL) OR abs({ours} - {theirs}) > 1e-9 * abs({theirs})"
        if column.startswith("params"):
            wrong = f"{ours} IS DISTINCT FROM {theirs}"
        if column in _APART_COLUMNS:
            wrong += f" AND ({ours} IS NOT NULL OR {theirs} > 0)"
        label = (
            f"d.design_id || ': {column} is ' || coalesce({ours}::VARCHAR, 'null') || ', {table} give ' ||"
            f" coalesce({theirs}::VARCHAR, 'null')"
        )
        yield _on_rows("designs", f"{column} equals the sum over {table}", label, rows, wrong)


def _on_rows(table: str, says: str, label: str, rows: str, wrong: str) -> Rule:
    return Rule(table, says, f"SELECT {label} FROM {rows} WHERE {wrong}", rows, wrong)


def _design_rule(says: str, broken: str) -> Rule:
    return _on_rows("designs", says, "design_id", "designs", broken)


_WIDTH = "coalesce(width_bytes, 2)"


def _growth(kind: str, windowed: str) -> str:
    return f"coalesce(sum(repeats * elements * {_WIDTH} / stride) FILTER (kind = '{kind}' AND stride > 0{windowed}), 0)"


def _held(tokens: int) -> str:
    entries = f'CASE WHEN stride = 0 THEN 1 ELSE least(coalesce("window", {tokens}), {tokens}) // stride END'
    return f"coalesce(sum(repeats * elements * {_WIDTH} * {entries}) FILTER (kind <> 'cross'), 0)"


_KEPT: dict[str, str] = {
    "kv_bytes_per_token": _growth("kv", ' AND "window" IS NULL'),
    "kv_bytes_per_token_first": _growth("kv", ""),
    "growth_bytes_per_token_first": f"{_growth('kv', '')} + {_growth('index', '')}",
    "index_bytes_per_token": _growth("index", ""),
    "state_bytes_constant": f"coalesce(sum(repeats * elements * {_WIDTH}) FILTER (stride = 0), 0)",
    "kv_bytes_4k": _held(4_096),
    "kv_bytes_32k": _held(32_768),
    "kv_bytes_128k": _held(131_072),
    "kv_bytes_1m": _held(1_048_576),
}


def _states() -> Iterator[Rule]:
    yield from _folds("states", _KEPT)
    yield Rule(
        "designs",
        "cross_kv_bytes_per_source_token equals the sum over states, null where there is none",
        "SELECT design_id FROM designs LEFT JOIN (SELECT design_id, sum(repeats * elements * "
        f"{_WIDTH} / stride) AS folded FROM states WHERE kind = '{StateKind.CROSS}' GROUP BY design_id)"
        " USING (design_id)"
        " WHERE cross_kv_bytes_per_source_token IS DISTINCT FROM folded",
    )
    yield Rule(
        "configs",
        "growth_bytes_per_token sums the caches that the stated context does not fill",
        "SELECT c.config_id FROM configs c JOIN designs d USING (design_id) LEFT JOIN (SELECT config_id,"
        f" sum(repeats * elements * {_WIDTH} / stride) FILTER (s.kind IN ('kv', 'index') AND (s.\"window\" IS NULL OR"
        ' s."window" >= max_context)) AS folded FROM configs JOIN states s USING (design_id) GROUP BY config_id) f'
        " USING (config_id) WHERE (c.growth_bytes_per_token IS NULL) <> (d.growth_bytes_per_token_first IS NULL)"
        " OR abs(c.growth_bytes_per_token - coalesce(folded, 0)) > 1e-6",
    )
    yield Rule(
        "states",
        "keys and values make an entry",
        "SELECT design_id || ' ' || part FROM states WHERE k_elements + v_elements <> elements"
        " OR (k_elements IS NULL) <> (v_elements IS NULL) OR (k_elements IS NULL AND kind IN ('kv', 'cross'))",
    )
    yield _design_rule(
        "a longer context never holds less",
        "NOT (kv_bytes_4k <= kv_bytes_32k AND kv_bytes_32k <= kv_bytes_128k AND kv_bytes_128k <= kv_bytes_1m)",
    )
    yield Rule(
        "states",
        "a state of a fixed size is constant, and only that",
        "SELECT design_id || ' ' || part FROM states WHERE (stride = 0) <> (kind = 'constant')",
    )


def _parallel() -> Iterator[Rule]:
    yield from (_design_rule(says, wrong) for says, wrong in parallel.broken())


def _shape() -> Iterator[Rule]:
    yield Rule(
        "layers",
        "the layers of a design are numbered from 0 to n_layers - 1, none left out",
        "SELECT design_id || ': ' || n || ' of ' || n_layers FROM designs JOIN"
        " (SELECT design_id, count(DISTINCT index) AS n,"
        " max(index) AS top, min(index) AS bottom FROM (SELECT design_id, first_index + k * stride AS index"
        " FROM layers, range(repeats) AS steps(k)) GROUP BY design_id) USING (design_id)"
        " WHERE n <> n_layers OR top <> n_layers - 1 OR bottom <> 0",
    )


def _manifest() -> Iterator[Rule]:
    for table in CONTENT:
        query = (
            f"SELECT coalesce((SELECT rows FROM snapshot WHERE name = '{table.name}')::VARCHAR, 'none')"
            f" || ' in the manifest, ' || count(*) || ' in the table' FROM {table.name}"
            f" HAVING count(*) IS DISTINCT FROM (SELECT rows FROM snapshot WHERE name = '{table.name}')"
        )
        yield Rule("snapshot", f"the manifest knows every row of {table.name}", query)
    yield Rule(
        "snapshot",
        "every listed repository is a row of models",
        "SELECT listed || ' listed, ' || (SELECT count(*) FROM models) || ' in models' FROM"
        " (SELECT any_value(rows) AS listed FROM snapshot WHERE name = 'snapshot')"
        " WHERE listed IS DISTINCT FROM (SELECT count(*) FROM models)",
    )
