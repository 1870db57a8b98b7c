"""Whole-number arithmetic over named scalars, as rows of towers write sizes: `hidden_size * spatial_merge_size ** 2`.

No more than numbers, names (with dots), indices, + - * / // % **, comparisons, `and`, `or` and `not` (which give 0 or
1), and the few functions below. A division by `/` has to leave nothing.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

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
    return lookup(_dotted(node))


def _dotted(node: Any) -> str:
    return node.id if isinstance(node, ast.Name) else f"{_dotted(node.value)}.{node.attr}"


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
    kind = cast("type[ast.operator]", type(node.op))
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
    kind, other = cast("type[ast.cmpop]", type(node.ops[0])), node.comparators[0]
    read = _value if kind in (ast.Eq, ast.NotEq) else _number  # nothing but numbers has an order
    return int(_COMPARED[kind](read(node.left, lookup), read(other, lookup)))


def _unary(node: Any, lookup: Lookup) -> int | float:
    if isinstance(node.op, ast.Not):
        return int(not _value(node.operand, lookup))
    return -_number(node.operand, lookup)


def _joined(node: Any, lookup: Lookup) -> int:
    """Whether one of several holds (`or`), or all of them (`and`)."""
    fold = any if isinstance(node.op, ast.Or) else all
    return int(fold(_value(v, lookup) for v in node.values))


def _indexed(node: Any, lookup: Lookup) -> Any:
    values, at = _value(node.value, lookup), _value(node.slice, lookup)
    held = _listed(values)
    if type(at) is not int or not -len(held) <= at < len(held):
        raise bad_value(ast.unparse(node.value), values, "a list that is long enough")
    return held[at]


def _called(node: Any, lookup: Lookup) -> Any:
    return FUNCTIONS[node.func.id](*(_value(a, lookup) for a in node.args))


def _first(value: Any) -> Any:
    """The one number of a square, or the first of its two."""
    return _side(value, 0)


def _second(value: Any) -> Any:
    return _side(value, 1)


def _side(value: Any, at: int) -> Any:
    values = _listed(value)
    return values[at] if len(values) == 2 else value


def _count(value: Any) -> int:
    """Entries of a list; a single value is one entry, null none."""
    return len(cast("list[Any]", value)) if isinstance(value, list) else 0 if value is None else 1


def _given(value: Any) -> int:
    return int(value is not None and value is not False)


def _either(value: Any, other: Any) -> Any:
    """What stands in for a null."""
    return other if value is None else value


def _within(value: Any, values: Any) -> int:
    return int(value in _listed(values))


def _total(values: Any) -> Any:
    return sum(_listed(values))


def _rounded(number: int, step: int) -> int:
    """Up to a multiple of the step."""
    return -(-number // step) * step


def _digits(value: Any) -> Any:
    """A number that may be written as a string of digits."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _part(value: Any, at: int) -> Any:
    """One of the numbers of a ratio that is written as text: 4 and 8 of "4/8"."""
    parts = value.split("/") if isinstance(value, str) else []
    return _digits(parts[at]) if at < len(parts) else value


def _listed(values: Any) -> list[Any]:
    return cast("list[Any]", values) if isinstance(values, list) else []


def _floored(a: Any, b: Any) -> Any:
    return a // b


def _power(a: Any, b: Any) -> Any:
    return a**b


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "first": _first,
    "second": _second,
    "count": _count,
    "given": _given,
    "either": _either,
    "within": _within,
    "total": _total,
    "rounded": _rounded,
    "digits": _digits,
    "part": _part,
    "trunc": int,  # a product with a ratio, cut off as Python's int does
}
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: _floored,
    ast.Mod: operator.mod,
    ast.Pow: _power,
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
    ast.BoolOp: _joined,
    ast.Subscript: _indexed,
    ast.Call: _called,
}
