"""Whole-number arithmetic over named scalars, as rows of towers write sizes: `hidden_size * spatial_merge_size ** 2`.

No more than numbers, names (with dots), indices, + - * / // % **, comparisons and `not` (which give 0 or 1), and the
few functions below. A division by `/` has to leave nothing.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from atlas.refusal import bad_value, contradiction

Lookup = Callable[[str], Any]
MAX_SIZE = 2**40
_EXPONENTS = 8


def evaluate(text: str, lookup: Lookup) -> Any:
    """The value of an expression; `lookup` answers for names. Raises `Refused` where an operand is no number."""
    return _value(parsed(text), lookup)


def size(text: str, lookup: Lookup) -> int:
    """The value as a length or a count, 0 allowed; raises `Refused`."""
    found = evaluate(text, lookup)
    if type(found) is bool:
        return int(found)
    if type(found) is float and found.is_integer():
        found = int(found)
    if type(found) is not int or not 0 <= found <= MAX_SIZE:
        raise bad_value(text, found, "a whole number, 0 or more")
    return found


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """The expression as a tree; raises `SyntaxError` where a row is written wrongly."""
    return ast.parse(text, mode="eval").body


def _value(node: ast.expr, lookup: Lookup) -> Any:
    made = _NODES.get(type(node))
    if made is None:
        raise SyntaxError(f"not arithmetic: {ast.unparse(node)}")
    return made(node, lookup)


def _name(node: Any, lookup: Lookup) -> Any:
    return lookup(ast.unparse(node))


def _constant(node: Any, lookup: Lookup) -> Any:  # noqa: ARG001 - every node is read alike
    return node.value


def _number(node: ast.expr, lookup: Lookup) -> int | float:
    found = _value(node, lookup)
    if type(found) is bool:
        return int(found)
    if type(found) not in (int, float) or abs(found) > MAX_SIZE:
        raise bad_value(ast.unparse(node), found, "a number")
    return found


def _binary(node: Any, lookup: Lookup) -> int | float:
    left, right = _number(node.left, lookup), _number(node.right, lookup)
    kind = type(node.op)
    if kind in (ast.Div, ast.FloorDiv, ast.Mod) and not right:
        raise contradiction(f"{ast.unparse(node)} divides by zero")
    if kind is ast.Div:
        return _divided(node, left, right)
    if kind is ast.Pow and right > _EXPONENTS:
        raise bad_value(ast.unparse(node.right), right, f"at most {_EXPONENTS}")
    return _OPERATORS[kind](left, right)


def _divided(node: Any, left: float, right: float) -> int | float:
    if type(left) is int and type(right) is int and left % right:
        raise contradiction(f"{ast.unparse(node)}: {left:,} is not a multiple of {right:,}")
    return left // right if type(left) is int and type(right) is int else left / right


def _compared(node: Any, lookup: Lookup) -> int:
    left, right = _value(node.left, lookup), _value(node.comparators[0], lookup)
    return int(_COMPARED[type(node.ops[0])](left, right))


def _unary(node: Any, lookup: Lookup) -> int | float:
    if isinstance(node.op, ast.Not):
        return int(not _value(node.operand, lookup))
    return -_number(node.operand, lookup)


def _indexed(node: Any, lookup: Lookup) -> Any:
    values, at = _value(node.value, lookup), _value(node.slice, lookup)
    if isinstance(values, Mapping) and isinstance(at, str):
        return values.get(at)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    if not isinstance(values, list) or type(at) is not int or not -len(values) <= at < len(values):  # pyright: ignore[reportUnknownArgumentType]
        raise bad_value(ast.unparse(node.value), values, "a list that is long enough")
    return values[at]  # pyright: ignore[reportUnknownVariableType]


def _called(node: Any, lookup: Lookup) -> Any:
    return FUNCTIONS[node.func.id](*(_value(a, lookup) for a in node.args))


def _pair(value: Any, at: int) -> Any:
    """A side of a square given as one number, or as one number for each side."""
    return value[at] if isinstance(value, list) and len(value) == 2 else value  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]


def _count(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0 if value is None else 1  # pyright: ignore[reportUnknownArgumentType]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "first": lambda v: _pair(v, 0),  # the one number, or the first of a pair
    "second": lambda v: _pair(v, 1),
    "count": _count,  # entries of a list; a single value is one entry, null none
    "given": lambda v: int(v is not None and v is not False),
    "either": lambda v, other: other if v is None else v,  # what stands in for a null
    "trunc": int,  # a product with a ratio, cut off as Python's int does
    "least": min,
    "most": max,
    "within": lambda v, values: int(v in (values or ())),  # whether a list has it
    "sum": lambda values: sum(values or ()),
    "rounded": lambda n, step: -(-n // step) * step,  # up to a multiple
}
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARED: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}
_NODES: Mapping[type, Callable[[Any, Lookup], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _name,
    ast.BinOp: _binary,
    ast.Compare: _compared,
    ast.UnaryOp: _unary,
    ast.Subscript: _indexed,
    ast.Call: _called,
}
