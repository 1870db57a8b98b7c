"""Numbers as people read them: digits in groups, bytes in powers of 1,024, counts with K, M, B or T."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40


def trimmed(number: float, decimals: int) -> str:
    """Digits in groups of three, halves rounded up, without a fraction of zeros."""
    exact = Decimal(number).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{exact:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def binary(n: float) -> str:
    """Bytes in the largest unit of 1,024 that leaves a number of at least one."""
    for size, unit in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n >= size:
            return f"{trimmed(n / size, 1)} {unit}"
    return f"{trimmed(n, 1)} B"


def scaled(n: float) -> str:
    """A count with K, M, B or T; beyond that with P, for 10^15."""
    for size, unit in ((1e15, "P"), (1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if abs(n) >= size:
            return f"{n / size:.3g}{unit}" if abs(n) / size < 999.5 else f"{n / size:.0f}{unit}"
    return f"{n:g}"
