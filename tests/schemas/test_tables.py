"""The table models: every declared check has a mutant that it catches."""

from __future__ import annotations

import math

import hand_made
import polars as pl
import pytest

from pipeline.store.digest import as_stored
from pipeline.store.validate import column_failures
from schemas.registry import TABLES, Table
from schemas.tables import POLARS, checks, ddl, is_sound, model, polars_schema

CONTENT = {**hand_made.content(), **hand_made.records()}


def good(table: Table) -> pl.DataFrame:
    """A valid frame with at least one row."""
    if table.name != "snapshot":
        return as_stored(table, CONTENT[table.name])
    row = ("models", 5, "d", *[None] * 6)
    return pl.DataFrame([row], schema=polars_schema(table), orient="row")


def with_first(frame: pl.DataFrame, column: str, value: object) -> pl.DataFrame:
    """The frame with another value in the first row of a column."""
    kind = frame.schema[column]
    rest = frame[column].slice(1)
    return frame.with_columns(pl.concat([pl.Series(column, [value], dtype=kind), rest]))


def mutants(table: Table) -> dict[str, dict[str, tuple[object, str]]]:
    """Wrong values by kind of fault: for each column that can have it, the value and the start of the rule in words."""
    fields = table.fields
    real = {f.name: f"{f.name} is a finite number" for f in fields if f.kind == "real"}
    faults: dict[str, dict[str, tuple[object, str]]] = {
        "null": {f.name: (None, f"{f.name} is never null") for f in fields if not f.nullable},
        "bound": {f.name: (f.least - 1, f"{f.name} is at least {f.least:g}") for f in fields if f.least is not None},
        "word": {f.name: ("nonsense", f"{f.name} is one of") for f in fields if f.among is not None},
    }
    faults |= {str(x): {name: (x, rule) for name, rule in real.items()} for x in (math.nan, math.inf, -math.inf)}
    return {fault: columns for fault, columns in faults.items() if columns}


FAULTS = [(t, fault, m) for t in TABLES.values() for fault, m in mutants(t).items()]
CASES = [pytest.param(t, m, id=f"{t.name}-{fault}") for t, fault, m in FAULTS]


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_the_unchanged_table_is_valid(table: Table) -> None:
    """What the mutants are made from breaks no rule."""
    assert column_failures(table, good(table)) == []


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_what_is_sound_breaks_no_rule_of_pandera(table: Table) -> None:
    """The one pass that usually replaces pandera agrees with it, on rows and on none."""
    for frame in (good(table), good(table).clear()):
        assert is_sound(table.name, frame)
        model(table.name).validate(frame, lazy=True)


@pytest.mark.parametrize(("table", "wrong"), CASES)
def test_a_wrong_value_is_caught(table: Table, wrong: dict[str, tuple[object, str]]) -> None:
    """A null, NaN, infinity, number out of bounds or word out of its set is caught in every column."""
    frame = good(table)
    for column, (value, _) in wrong.items():
        frame = with_first(frame, column, value)
    said = [f.says for f in column_failures(table, frame)]
    for _, rule in wrong.values():
        assert sum(s.startswith(rule) for s in said) == 1, (rule, said)


def test_every_declared_check_has_a_mutant() -> None:
    """Every check of every column is among the rules that the mutants break."""
    tried = {(t.name, rule) for t, _, m in FAULTS for _, rule in m.values()}
    declared = {(t.name, f"{f.name} {c.name}") for t in TABLES.values() for f in t.fields for c in checks(f)}
    assert [d for d in declared if not any(t == d[0] and d[1].startswith(rule) for t, rule in tried)] == []


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_columns_are_those_of_the_contract(table: Table) -> None:
    """A missing column, one too many, another order and another type are each caught."""
    frame, first = good(table), table.fields[0]
    other = pl.Boolean if first.kind != "flag" else pl.String
    for mutant in (
        frame.drop(first.name),
        frame.with_columns(extra=pl.lit(1)),
        frame.select(reversed(frame.columns)),
        frame.with_columns(pl.lit(None, dtype=other).alias(first.name)),
    ):
        assert column_failures(table, mutant)


def test_a_failure_is_for_people() -> None:
    """The message names table, rule, number of rows, and the first five offenders by their key."""
    states = good(TABLES["states"])
    many = pl.concat([states] * 3).with_columns(elements=pl.lit(-7, dtype=pl.Int64))
    (failure,) = column_failures(TABLES["states"], many)
    message = str(failure)
    assert message.startswith("table states: 9 row(s) break the rule that elements is at least 0: aaaa 0 0 0: -7")
    assert len(failure.examples) == 5


def test_every_kind_of_column_has_ddl() -> None:
    """Each table's DDL names every column, marks the required ones, and quotes comments."""
    for table in TABLES.values():
        text = ddl(table)
        for f in table.fields:
            assert f'"{f.name}" ' in text
            assert f'COMMENT ON COLUMN {table.name}."{f.name}" IS' in text
        assert text.count(" NOT NULL") == sum(not f.nullable for f in table.fields)
    assert set(POLARS) == {f.kind for t in TABLES.values() for f in t.fields} | {"blob", "states"}
