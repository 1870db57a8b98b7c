"""How a page says a value: units, scaled counts, plurals, lists. Plain values in, finished Markdown out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.text import markdown
from pipeline.units import GIB, KIB, MIB, binary, trimmed

MOST_DIGITS = 3
"""Decimals that a factor near one may have."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_WORDS = {
    "silu": "SiLU",
    "rmsnorm": "RMSNorm",
    "layernorm": "LayerNorm",
    "rope": "RoPE",
    "nope": "no position",
    "moe": "MoE",
}
_CAPITALS = ("mha", "gqa", "mqa", "mla", "ssm")


def count(n: float) -> str:
    """A whole number."""
    return f"{n:,.0f}"


def digits(n: float) -> str:
    """A whole number without separators, as a config writes it."""
    return f"{n:.0f}"


def number(n: float) -> str:
    """A number with up to three decimals."""
    return trimmed(n, 3)


def byte_count(n: float) -> str:
    """Bytes, all digits."""
    return f"{trimmed(n, 1)} B"


def kib(n: float) -> str:
    """Bytes in KiB."""
    return f"{trimmed(n / KIB, 1)} KiB"


def mib(n: float) -> str:
    """Bytes in MiB."""
    return f"{trimmed(n / MIB, 1)} MiB"


def gib(n: float) -> str:
    """Bytes in GiB, without a fraction of zero."""
    return f"{trimmed(n / GIB, 1)} GiB"


def gib1(n: float) -> str:
    """Bytes in GiB with one decimal, for columns."""
    return f"{n / GIB:,.1f} GiB"


def gib2(n: float) -> str:
    """Bytes in GiB with two decimals, for reads below one."""
    return f"{n / GIB:,.2f} GiB"


def params(n: float) -> str:
    """A count of weights in T, B, M or K with about three digits."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if n >= size:
            scaled = n / size
            return f"{scaled:,.{2 if scaled < 10 else 1}f}{unit}"
    return count(n)


def billions(n: float) -> str:
    """A count in B with one decimal."""
    return f"{n / 1e9:,.1f}B"


def millions(n: float) -> str:
    """A count in M with one decimal."""
    return f"{n / 1e6:,.1f}M"


def reported(n: float) -> str:
    """A count as a source states it: T, B or M, no digit added."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if n >= size:
            return f"{n / size:.12g}{unit}"
    return count(n)


def pct(share: float) -> str:
    """A fraction in percent with one decimal; what would round to nothing says so."""
    return "<0.1 %".replace("<", "&lt;") if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def ratio(n: float) -> str:
    """How many times as much; near one with the digits that tell it from one."""
    digits = 0 if n >= 20 else 1 if n >= 2 else 2 if n >= 1 else 3
    while round(n, digits) == 1 != n and digits < MOST_DIGITS:
        digits += 1
    return f"{trimmed(n, digits)}×"


def power(n: float) -> str:
    """A large number with two digits and a power of ten."""
    mantissa, exponent = f"{n:.1e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_RAISED)}"


def power3(n: float) -> str:
    """A large number with three digits and a power of ten."""
    mantissa, exponent = f"{n:.2e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_RAISED)}"


def gflops(n: float) -> str:
    """FLOPs in GFLOPs; below ten with one decimal."""
    return f"{trimmed(n / 1e9, 0 if n >= 1e10 else 1)} GFLOPs"


def pflops(n: float) -> str:
    """FLOPs in PFLOPs; below ten with one decimal."""
    return f"{trimmed(n / 1e15, 0 if n >= 1e16 else 1)} PFLOPs"


def context(n: float) -> str:
    """A number of tokens: in K where it is a whole number of 1,024s."""
    return f"{n // KIB:,.0f}K" if n >= KIB and n % KIB == 0 else count(n)


def text(value: object) -> str:
    """Text of anybody, harmless."""
    return markdown(str(value))


def fixed(value: object) -> str:
    """Text of anybody, harmless, in a column of its own."""
    return markdown(str(value))


def name(repo_id: str) -> str:
    """A repository without its owner."""
    return markdown(repo_id.rpartition("/")[2])


def code(value: object) -> str:
    """Text of anybody as code; backticks in it become apostrophes, because code has no escape."""
    from pipeline.text import terminal

    return f"`{terminal(str(value)).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def word(value: str) -> str:
    """A word of the atlas's vocabulary as prose writes it."""
    if value in _CAPITALS:
        return value.upper()
    return _WORDS.get(value) or markdown(value.replace("_", " "))


def yes(value: bool) -> str:  # noqa: FBT001 - a filter of a flag
    """A flag."""
    return "yes" if value else "no"


def day(value: dt.date | str) -> str:
    """A date as YYYY-MM-DD."""
    return dt.date.fromisoformat(str(value)[:10]).isoformat()


def plural(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun: no layers, 1 layer, 12 layers."""
    return f"{'no' if n == 0 else count(n)} {one if n == 1 else many or one + 's'}"


def are(n: int, one: str = "is", many: str = "are") -> str:
    """The verb that fits a count."""
    return one if n == 1 else many


def listed(items: Sequence[str]) -> str:
    """Finished texts as an English list; nothing is `none`."""
    if not items:
        return "none"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


FILTERS: dict[str, Callable[..., str]] = {
    f.__name__: f
    for f in (
        count, digits, number, kib, mib, gib, gib1, gib2, binary, params, billions, millions, reported, pct, ratio,
        power, power3, gflops, pflops, context, text, fixed, name, code, word, yes, day, plural, are,
    )
} | {"bytes": byte_count}  # fmt: skip
"""The filters of a template, by name."""

NUMBERS = frozenset(FILTERS) - {"text", "fixed", "name", "code", "word", "yes", "day", "are"}
"""Filters whose columns are set to the right in a table."""


def shown(value: Any, form: str) -> str:
    """One value of a table by the name of its filter."""
    return FILTERS[form](value)
