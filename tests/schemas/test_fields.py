"""The registry of columns."""

from __future__ import annotations

import re
import types
import typing

import pytest

from atlas.numbers.fingerprint import Fingerprint, LayerRow
from schemas.fields import FINGERPRINT, SUMMED
from schemas.registry import LAYERS, TABLES, Table
from schemas.vocabulary import APART, Component

KINDS = {
    (str,): "text",
    (int,): "int",
    (float,): "real",
    (int, float): "real",
    (bool,): "flag",
    (dict[str, int],): "counts",
    (dict[str, str],): "words",
}


def kind_of(annotation: object) -> str:
    """The column kind of a type annotation, null left aside."""
    parts = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return KINDS[tuple(p for p in parts if p is not type(None))]


def test_fingerprint_and_registry_agree() -> None:
    """The registry names the fields of a fingerprint, all of them, in their order, with their types."""
    hints = typing.get_type_hints(Fingerprint)
    assert [(f.name, f.kind) for f in FINGERPRINT] == [(n, kind_of(hints[n])) for n in Fingerprint.__struct_fields__]


def test_layer_rows_and_registry_agree() -> None:
    """The table of layers has the fields of a layer row; its index is in run-length form."""
    hints = typing.get_type_hints(LayerRow)
    ours = {f.name: f.kind for f in LAYERS.fields}
    assert {n: ours[n] for n in LayerRow.__struct_fields__[1:]} == {
        n: kind_of(hints[n]) for n in LayerRow.__struct_fields__[1:]
    }


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_every_column_says_what_it_is(table: Table) -> None:
    """Every column has a meaning in one or two sentences, and its name is unique in the table."""
    assert len(set(table.columns)) == len(table.columns)
    for field in table.fields:
        assert re.fullmatch(r"[A-Z0-9`a-z_].*[.]", field.meaning) or field.name.startswith(
            ("share", "params", "flops")
        ), field
        assert field.meaning.count(". ") <= 2


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_keys_are_columns_that_are_never_null(table: Table) -> None:
    """A key names columns of its table, and none of them may be null."""
    by_name = {f.name: f for f in table.fields}
    assert all(not by_name[k].nullable for k in table.key)


@pytest.mark.parametrize("field", [f for f in FINGERPRINT if f.kind in ("int", "real")], ids=lambda f: f.name)
def test_quantities_cannot_be_negative(field: typing.Any) -> None:
    """Every number of a fingerprint has a lower bound, and every count or size a unit."""
    assert field.least == 0
    assert field.unit or field.name == "rope_theta"


def test_components_are_summed_or_apart() -> None:
    """Every component is either a summand of params_total or stands apart from it."""
    assert set(SUMMED) | APART == set(Component)
    assert not set(SUMMED) & APART
