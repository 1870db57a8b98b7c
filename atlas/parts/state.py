"""What mixers with a state of fixed size have in common: its widths, and that it is loaded once a token."""

from __future__ import annotations

from atlas.numbers.structure import Read, State

FP32 = 4


BF16 = 2


def states(
    conv_width: int, kernel: int, recurrent: int, heads: int, groups: int | None = None, grouped: int = 0
) -> tuple[State, State]:
    """The convolution window and the recurrent state of one layer; `grouped` of its channels belong to `groups`."""
    columns = State("constant", conv_width * kernel, 0, None, 2, channels=conv_width, kernel=kernel)
    columns = columns._replace(groups=groups, grouped=grouped)
    return columns, State("constant", recurrent, 0, None, FP32, heads=heads)


def reads(kept: tuple[State, ...], flops: int) -> tuple[Read, ...]:
    """Every state is loaded once a token; the arithmetic is booked on the last."""
    last = len(kept) - 1
    return tuple(Read(flops if i == last else 0, s.elements, 0, width=s.width) for i, s in enumerate(kept))
