"""Whole-number arithmetic over named scalars, as rows of towers write sizes: `hidden_size * spatial_merge_size ** 2`.

No more than numbers, names (with dots), indices, + - * / // % **, comparisons, `and`, `or` and `not` (which give 0 or
1), and the few functions below. A division by `/` has to leave nothing.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, cast

from atlas.refusal import bad_value, contradiction

Lookup = Callable[[str], Any]
Answer = Callable[[Lookup], Any]
MAX_SIZE = 2**40
_EXPONENTS = 8


def evaluate(text: str, lookup: Lookup) -> Any:
    """The value of an expression; `lookup` answers for names. Raises `Refused` where an operand is no number."""
    return compiled(text)(lookup)


def size(text: str, lookup: Lookup) -> int:
    """The value as a length or a count, 0 allowed; raises `Refused`."""
    found = compiled(text)(lookup)
    return int(found) if type(found) is bool else _sized(text, found)


def side(text: str, lookup: Lookup) -> int:
    """The value as a side of a tensor: a size that no switch stands for; raises `Refused`."""
    return _sized(text, compiled(text)(lookup))


def _sized(text: str, found: Any) -> int:
    if type(found) is float and found.is_integer():
        found = int(found)
    if type(found) is not int or not 0 <= found <= MAX_SIZE:
        raise bad_value(text, found, "a whole number, 0 or more")
    return found


@lru_cache(maxsize=4096)
def compiled(text: str) -> Answer:
    """The expression as one function of its names; raises `SyntaxError` where a row is written wrongly."""
    return _value(ast.parse(text, mode="eval").body)


def _value(node: ast.expr) -> Answer:
    made = _NODES.get(type(node))
    if made is None:
        raise SyntaxError(f"not arithmetic: {ast.unparse(node)}")
    return made(node)


def _name(node: Any) -> Answer:
    name = _dotted(node)
    return lambda lookup: lookup(name)


def _dotted(node: Any) -> str:
    return node.id if isinstance(node, ast.Name) else f"{_dotted(node.value)}.{node.attr}"


def _constant(node: Any) -> Answer:
    return lambda _: node.value


def _number(node: ast.expr) -> Callable[[Lookup], int | float]:
    value = _value(node)

    def number(lookup: Lookup) -> int | float:
        found = value(lookup)
        if type(found) is bool:
            return int(found)
        if type(found) not in (int, float) or abs(found) > MAX_SIZE:
            raise bad_value(ast.unparse(node), found, "a number")
        return found

    return number


def _binary(node: Any) -> Answer:
    first, second = _number(node.left), _number(node.right)
    kind = cast("type[ast.operator]", type(node.op))
    apply = partial(_divided, node) if kind is ast.Div else _OPERATORS[kind]
    divides = kind in (ast.Div, ast.FloorDiv, ast.Mod)

    def binary(lookup: Lookup) -> int | float:
        left, right = first(lookup), second(lookup)
        if divides and not right:
            raise contradiction(f"{ast.unparse(node)} divides by zero")
        if kind is ast.Pow and right > _EXPONENTS:
            raise bad_value(ast.unparse(node.right), right, f"at most {_EXPONENTS}")
        return apply(left, right)

    return binary


def _divided(node: Any, left: float, right: float) -> int | float:
    if type(left) is int and type(right) is int and left % right:
        raise contradiction(f"{ast.unparse(node)}: {left:,} is not a multiple of {right:,}")
    return left // right if type(left) is int and type(right) is int else left / right


def _compared(node: Any) -> Answer:
    kind = cast("type[ast.cmpop]", type(node.ops[0]))
    read = _value if kind in (ast.Eq, ast.NotEq) else _number  # nothing but numbers has an order
    left, right, compare = read(node.left), read(node.comparators[0]), _COMPARED[kind]
    return lambda lookup: int(compare(left(lookup), right(lookup)))


def _unary(node: Any) -> Answer:
    if isinstance(node.op, ast.Not):
        value = _value(node.operand)
        return lambda lookup: int(not value(lookup))
    number = _number(node.operand)
    return lambda lookup: -number(lookup)


def _joined(node: Any) -> Answer:
    """Whether one of several holds (`or`), or all of them (`and`)."""
    fold, values = any if isinstance(node.op, ast.Or) else all, [_value(v) for v in node.values]
    return lambda lookup: int(fold(value(lookup) for value in values))


def _indexed(node: Any) -> Answer:
    listed, index = _value(node.value), _value(node.slice)

    def indexed(lookup: Lookup) -> Any:
        values, at = listed(lookup), index(lookup)
        held = _listed(values)
        if type(at) is not int or not -len(held) <= at < len(held):
            raise bad_value(ast.unparse(node.value), values, "a list that is long enough")
        return held[at]

    return indexed


def _called(node: Any) -> Answer:
    function, values = FUNCTIONS[node.func.id], [_value(a) for a in node.args]
    return lambda lookup: function(*[value(lookup) for value in values])


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


def _product(values: Any) -> Any:
    found = 1
    for each in _listed(values):
        found *= _whole(each)
    return found


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SIZE:
        raise bad_value("a factor", value, "a whole number, 0 or more")
    return value


def _per_layer(values: Any, key: Any, other: Any, layers: Any) -> list[Any]:
    """One value per layer: what an object keyed by numbers of layers gives some of them under `key`, else the other.

    Refused where the object has another kind of key.
    """
    found = [other] * _whole(layers)
    for layer, given in (cast("dict[str, Any]", values) if isinstance(values, dict) else {}).items():
        if not (layer.isdecimal() and isinstance(given, dict) and int(layer) < len(found)):
            raise bad_value("a layer's own values", layer, "an object under the number of a layer")
        found[int(layer)] = cast("dict[str, Any]", given).get(key, other)
    return found


def _names_only(values: Any, *names: Any) -> int:
    """Whether the objects in an object have no other keys than these."""
    held = cast("dict[str, Any]", values).values() if isinstance(values, dict) else ()
    return int(all(isinstance(each, dict) and cast("dict[str, Any]", each).keys() <= {*names} for each in held))


def _where(words: Any, word: Any, values: Any) -> list[Any]:
    """The values at the places of a word in a list as long; 0 at the others."""
    return [v if w == word else 0 for w, v in zip(_listed(words), _listed(values), strict=False)]


def _halvings(value: Any) -> int:
    """How often a number is halved down to one, remainders left: its logarithm to base 2, cut off."""
    if _whole(value) < 1:
        raise bad_value("a number to halve", value, "a positive whole number")
    return value.bit_length() - 1


def _joined_lists(*values: Any) -> list[Any]:
    """One list of lists and of single values."""
    return [x for v in values for x in (_listed(v) if isinstance(v, list) else [v])]


def _turned(values: Any) -> list[Any]:
    """The last entry first."""
    return _listed(values)[::-1]


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
    "product": _product,
    "halvings": _halvings,
    "per_layer": _per_layer,
    "names_only": _names_only,
    "where": _where,
    "joined": _joined_lists,
    "turned": _turned,
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
_NODES: Mapping[type, Callable[[Any], Answer]] = {
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
