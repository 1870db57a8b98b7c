"""The rows of a refresh with one column changed a little, and with everything changed that sums over it.

A change that a sum would give away is no test of the witnesses, so what is summed is made to agree again: the totals of
a design over its weights and states, what repeats a total, and the same quantity in another table.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from schemas.fields import SUMMED, Field
from schemas.registry import EVIDENCE, TABLES
from schemas.vocabulary import APART, Component

Row = dict[str, Any]
Tables = Mapping[str, list[Row]]

IDS = ("repo_id", "config_id", "design_id")
ALIKE = {"window": "sliding_window", **{n: n for n in ("n_q_heads", "n_kv_heads", "head_dim", "v_head_dim")}}
"""Columns of `layers`, and the column of `designs` that repeats them."""


def changes(tables: Tables, table: str, field: Field) -> Iterator[tuple[str, dict[str, list[Row]]]]:
    """The changed tables, by what was done: a little, to null, from null; none where no row could change."""
    if field.name in IDS:
        yield from _done("another's", tables, table, field, _rotation(tables[table], field.name))
    elif field.kind == "evidence":
        for part in EVIDENCE:
            yield from _done(f"its {part.name}", tables, table, field, lambda v, p=part: _in_evidence(v, p))
    else:
        yield from _done("a little", tables, table, field, lambda v: None if v is None else little(v, field))
        if field.nullable:
            yield from _done("to null", tables, table, field, lambda v: None)
            yield from _done("from null", tables, table, field, lambda v: FILLED[field.kind](field) if v is None else v)


def _done(
    what: str, tables: Tables, table: str, field: Field, change: Callable[[Any], Any]
) -> Iterator[tuple[str, dict[str, list[Row]]]]:
    rows = [{**r, field.name: change(r[field.name])} for r in tables[table]]
    if rows != tables[table]:
        yield what, settled({**tables, table: rows}, tables, table, field.name)


def _rotation(rows: list[Row], column: str) -> Callable[[Any], Any]:
    """Every id in the place of the next one."""
    ids = sorted({r[column] for r in rows} - {None})
    following = dict(zip(ids, ids[1:] + ids[:1], strict=True))
    return following.get


def _in_evidence(entries: list[Row], part: Field) -> list[Row]:
    return [{**e, part.name: little(e[part.name], part)} for e in entries]


def little(value: Any, field: Field) -> Any:
    """A number by one unit or 1 %, a word to the next of its vocabulary, anything else by the least that differs."""
    if field.among:
        words = [str(w) for w in field.among]
        return words[(words.index(value) + 1) % len(words)]
    return LITTLE[field.kind](value)


LITTLE: dict[str, Callable[[Any], Any]] = {
    "text": lambda v: v + "0",
    "int": lambda v: v + 1,
    "real": lambda v: v * 1.01 or 1.0,
    "flag": lambda v: not v,
    "date": lambda v: v + dt.timedelta(days=1),
    "time": lambda v: v + dt.timedelta(seconds=1),
    "blob": lambda v: v + b" ",
    "texts": lambda v: [*v, "x"],
    "ints": lambda v: [*v[:-1], v[-1] + 1] if v else [2],
    "counts": lambda v: [{**e, "value": e["value"] + 1} for e in v] or [{"key": "x", "value": 1}],
    "words": lambda v: [{**e, "value": e["value"] + "0"} for e in v],
}
FILLED: dict[str, Callable[[Field], Any]] = {
    "text": lambda f: str(next(iter(f.among))) if f.among else "x",
    "int": lambda _: 1,
    "real": lambda _: 1.0,
    "flag": lambda _: True,
    "date": lambda _: dt.date(2026, 1, 1),
    "time": lambda _: dt.datetime(2026, 1, 1),  # noqa: DTZ001 - stored without a zone
    "blob": lambda _: b"x",
    "texts": lambda _: ["x"],
    "ints": lambda _: [1],
    "counts": lambda _: [{"key": "x", "value": 1}],
    "words": lambda _: [{"key": "x", "value": "x"}],
}


def settled(made: dict[str, list[Row]], before: Tables, table: str, column: str) -> dict[str, list[Row]]:
    """The tables made to agree with the changed column wherever a sum or a copy would give it away."""
    if table == "parameters":
        if column in ("shape", "elements"):
            made[table] = [_one_shape(r, column) for r in made[table]]
        _sum_weights(made, before)
    if table == "designs" and column.startswith("params_"):
        _weigh_more(made, column)
    if table == "states":
        _sum_states(made)
    if table in ("layers", "designs") and column in (*ALIKE, *ALIKE.values()):
        _copy_heads(made, before, table, column)
    return made


def _one_shape(row: Row, column: str) -> Row:
    if column == "elements":
        return {**row, "shape": [row["elements"]]}
    elements = 1
    for n in row["shape"]:
        elements *= n
    return {**row, "elements": elements}


def _fold(rows: Iterable[Row], weigh: Callable[[Row], float], key: str = "design_id") -> dict[Any, float]:
    found: dict[Any, float] = defaultdict(int)
    for row in rows:
        found[row[key]] += weigh(row)
    return found


def _sum_weights(made: dict[str, list[Row]], before: Tables) -> None:
    """Totals, shares, costs and layers over the changed weights."""
    rows = made["parameters"]
    inside = [r for r in rows if r["component"] not in APART]
    sums = {
        "params_total": _fold(inside, lambda r: r["repeats"] * r["stored"] * r["elements"]),
        "params_active": _fold(inside, lambda r: r["repeats"] * min(r["stored"], r["touched"]) * r["elements"]),
        "params_active_compute": _fold(
            [r for r in inside if r["role"] == "matmul"], lambda r: r["repeats"] * r["touched"] * r["elements"]
        ),
    }
    for c in Component:
        own = [r for r in rows if r["component"] == c]
        sums[f"params_{c}"] = _fold(own, lambda r: r["repeats"] * r["stored"] * r["elements"])
    made["designs"] = [_agreeing(r, sums) for r in before["designs"]]


def _agreeing(design: Row, sums: Mapping[str, Mapping[Any, float]]) -> Row:
    known = {c: s.get(design["design_id"], 0) for c, s in sums.items() if design.get(c) is not None}
    total, compute = known["params_total"], known["params_active_compute"]
    more = 2 * (compute - design["params_active_compute"])
    made = {**design, **known, "flops_per_token": 2 * compute, "weight_bytes_bf16": 2 * total}
    made |= {f"share_{c}": known[f"params_{c}"] / total for c in SUMMED if total}
    moved = [c for c in design if c.startswith("decode_bytes") and design[c] is not None]
    return made | {c: design[c] + more for c in moved}


def _weigh_more(made: dict[str, list[Row]], column: str) -> None:
    """A weight more in every design, of the kind that the column counts."""
    name = column.removeprefix("params_")
    component = name if name in set(Component) else "other"
    shape = {"role": "matmul" if name == "active_compute" else "vector", "stored": int(name != "active_compute")}
    first = {r["design_id"]: r for r in reversed(made["parameters"])}
    extra = [
        {**r, "ordinal": 10_000, "name": "more", "shape": [1], "elements": 1, "repeats": 1, "touched": 1}
        | {"component": component, **shape}
        for r in first.values()
    ]
    before = {**made, "designs": [dict(d) for d in made["designs"]]}
    made["parameters"] = [*made["parameters"], *extra]
    if all(d[column] is not None for d in made["designs"]):
        _sum_weights(made, before)


def _sum_states(made: dict[str, list[Row]]) -> None:
    """What a sequence holds, over the changed states."""
    sums = {
        "kv_bytes_per_token": _fold(made["states"], lambda r: _grows(r, "kv", bounded=False)),
        "kv_bytes_per_token_first": _fold(made["states"], lambda r: _grows(r, "kv", bounded=True)),
        "index_bytes_per_token": _fold(made["states"], lambda r: _grows(r, "index", bounded=True)),
        "state_bytes_constant": _fold(made["states"], lambda r: 0 if r["stride"] else _bytes(r)),
    }
    for name, tokens in (("4k", 4_096), ("32k", 32_768), ("128k", 131_072), ("1m", 1_048_576)):
        sums[f"kv_bytes_{name}"] = _fold(made["states"], lambda r, t=tokens: _held(r, t))
    made["designs"] = [
        {**d, **{c: s[d["design_id"]] for c, s in sums.items() if d[c] is not None and d["design_id"] in s}}
        for d in made["designs"]
    ]


def _bytes(row: Row) -> float:
    return row["repeats"] * row["elements"] * (row["width_bytes"] or 2)


def _grows(row: Row, kind: str, *, bounded: bool) -> float:
    counts = row["kind"] == kind and row["stride"] > 0 and (bounded or row["window"] is None)
    return _bytes(row) / row["stride"] if counts else 0


def _held(row: Row, tokens: int) -> float:
    if row["kind"] == "cross":
        return 0
    return _bytes(row) * (min(row["window"] or tokens, tokens) // row["stride"] if row["stride"] else 1)


def _copy_heads(made: dict[str, list[Row]], before: Tables, table: str, column: str) -> None:
    """The same change in the other of the two tables that state it."""
    other = "designs" if table == "layers" else "layers"
    its = ALIKE.get(column, column) if table == "layers" else next(k for k, v in ALIKE.items() if v == column)
    field = next(f for f in TABLES[other].fields if f.name == its)
    was = {id(r): r[its] for r in before[other]}
    made[other] = [{**r, its: None if was[id(r)] is None else little(r[its], field)} for r in before[other]]
