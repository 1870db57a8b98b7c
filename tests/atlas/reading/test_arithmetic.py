"""Arithmetic of tower rows: whole numbers over named scalars, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.reading.arithmetic import evaluate, size
from atlas.refusal import Refused

SCALARS = {"d": 1152, "image": 384, "patch": 14, "pair": [448, 224], "flag": True, "none": None, "ratio": 4.9231,
    "layers": {"1": {"n": 3}, "2": {}}, "odd": {"full": {"n": 1}}}  # fmt: skip


def given(name: str) -> Any:
    """The scalars of these tests."""
    return SCALARS[name]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(image // patch) ** 2 + 1", 27 * 27 + 1),
        ("3 * d", 3456),
        ("first(pair) - second(pair)", 224),
        ("first(patch) * second(patch)", 14 * 14),
        ("flag", 1),
        ("not flag", 0),
        ("count(pair)", 2),
        ("count(none)", 0),
        ("either(none, d)", 1152),
        ("trunc(d * ratio)", 5671),  # 1152 x 4.9231 = 5671.4
        ("within(224, pair) * pair[0]", 448),
        ("d == 1152 and patch != 16", 1),
        ("product(pair) // 448", 224),
        ("joined(1, pair)[2]", 224),
        ("turned(joined(pair, 7))[0]", 7),
        ("count(joined())", 0),
        ("halvings(8)", 3),
        ("per_layer(layers, 'n', 9, 4)[1] * 10 + per_layer(layers, 'n', 9, 4)[2]", 3 * 10 + 9),
        ("names_only(layers, 'n', 'k')", 1),
        ("names_only(layers, 'k')", 0),
        ("total(where(joined('a', 'b', 'a'), 'a', joined(1, 20, 300)))", 301),
        ("halvings(31)", 4),  # 15, 7, 3, 1
    ],
)
def test_expressions_give_whole_numbers(text: str, value: int) -> None:
    """Sizes, pairs, switches and lists come out as hand-counted."""
    assert size(text, given) == value


@pytest.mark.parametrize(
    "text",
    [
        "d / 7",
        "none * 2",
        "pair * 2",
        "d // 0",
        "pair[2]",
        "d ** 9",
        "d / 5",
        "0 - d",
        "product(joined(2, none))",
        "halvings(0)",
        "total(per_layer(odd, 'n', 9, 4))",
        "total(per_layer(layers, 'n', 9, 2))",
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    """A remainder, a null, a list as a number, a division by zero, a negative size: refused, never rounded."""
    with pytest.raises(Refused):
        size(text, given)


@pytest.mark.parametrize("text", ["[d for d in pair]", "lambda: 1", "'a' if d else 'b'"])
def test_nothing_but_arithmetic_is_evaluated(text: str) -> None:
    """A row cannot hold a program."""
    with pytest.raises(SyntaxError):
        evaluate(text, given)
